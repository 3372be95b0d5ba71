package redisbench_test

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
)

// names is the first line that redis-benchmark 7.0 prints.
const names = `"test","rps","avg_latency_ms","min_latency_ms","p50_latency_ms","p95_latency_ms","p99_latency_ms","max_latency_ms"` + "\n"

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name, out string
		want      redisbench.Result
	}{
		{
			"a command with an argument",
			names + `"INCR k","837520.94","0.683","0.040","0.663","1.479","2.663","14.239"` + "\n",
			redisbench.Result{Rate: 837520.94, P50: 663 * time.Microsecond, P99: 2663 * time.Microsecond},
		},
		{
			"other columns, in another order",
			"p99_latency_ms,rps,new,p50_latency_ms,test\n1.5,1000,x,0.25,NEXT\n",
			redisbench.Result{Rate: 1000, P50: 250 * time.Microsecond, P99: 1500 * time.Microsecond},
		},
	} {
		got, err := redisbench.Parse(strings.NewReader(c.out))
		if err != nil || got != c.want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ name, out, says string }{
		{"nothing", "", "6.2"},
		{"only names, as after a refused request", names, "6.2"},
		{"version 6.0, which names no columns", `"INCR k","837520.94"` + "\n", "6.2"},
		{"two tests", names + "GET,1,1,1,1,1,1,1\nSET,1,1,1,1,1,1,1\n", "6.2"},
		{"no CSV", names + `"NEXT` + "\n", "no CSV"},
		{"a line too short", names + "NEXT,1\n", "no CSV"},
		{"no p99", "test,rps,p50_latency_ms\nNEXT,1,1\n", "p99_latency_ms"},
		{"no number", "rps,p50_latency_ms,p99_latency_ms\nfast,1,1\n", `"fast"`},
		{"a division by no time", "rps,p50_latency_ms,p99_latency_ms\ninf,1,1\n", `"inf"`},
		{"negative", "rps,p50_latency_ms,p99_latency_ms\n5,-1,1\n", `"-1"`},
		{"not a number", "rps,p50_latency_ms,p99_latency_ms\nnan,1,1\n", `"nan"`},
		{"no requests", "rps,p50_latency_ms,p99_latency_ms\n0.00,0,0\n", "no requests"},
	} {
		got, err := redisbench.Parse(strings.NewReader(c.out))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %+v and the error %v, which should name %s", c.name, got, err, c.says)
		}
	}
}
