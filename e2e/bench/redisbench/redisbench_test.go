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
