package pgbench_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/bench/pgbench"
	"github.com/flakeward/flakeward/bench/pgbench/pgtest"
)

// output is what pgbench 15 prints.
const output = `pgbench (15.14 (Debian 15.14-0+deb12u1))
transaction type: script.sql
scaling factor: 1
query mode: prepared
number of clients: 50
number of threads: 2
maximum number of tries: 1
duration: 3 s
number of transactions actually processed: 112358
number of failed transactions: 0 (0.000%)
latency average = 1.328 ms
initial connection time = 52.581 ms
tps = 37651.123456 (without initial connection time)
`

func TestParse(t *testing.T) {
	got, err := pgbench.Parse(strings.NewReader(output))
	if want := (pgbench.Result{Rate: 37651.123456, Mean: 1328 * time.Microsecond}); err != nil || got != want {
		t.Errorf("%+v, %v; want %+v", got, err, want)
	}
	for name, out := range map[string]string{
		"nothing":          "",
		"no rate":          strings.Replace(output, "tps", "rate", 1),
		"no latency":       strings.Replace(output, "latency average", "latency", 1),
		"failures":         strings.Replace(output, "transactions: 0 (0", "transactions: 7 (1", 1),
		"a word":           strings.Replace(output, "37651.123456", "fast", 1),
		"no number":        strings.Replace(output, "1.328", "NaN", 1),
		"below 0":          strings.Replace(output, "1.328", "-1.328", 1),
		"without end":      strings.Replace(output, "37651.123456", "Inf", 1),
		"an older version": strings.Replace(output, "without initial connection time", "including connections establishing", 1),
	} {
		if got, err := pgbench.Parse(strings.NewReader(out)); err == nil {
			t.Errorf("%s: gave %+v and no error", name, got)
		}
	}
}

// FuzzParse: figures above 0, or an error.
func FuzzParse(f *testing.F) {
	f.Add(output)
	f.Add("tps = 1e300 (without initial connection time)\nlatency average = 0.001 ms\n")
	f.Fuzz(func(t *testing.T, out string) {
		r, err := pgbench.Parse(strings.NewReader(out))
		if err == nil && (!(r.Rate > 0) || r.Rate > 1e12 || r.Mean < 0) {
			t.Errorf("%+v", r)
		}
	})
}

// A cluster gives numbers, refuses nonsense, and leaves nothing behind.
func TestCluster(t *testing.T) {
	programs := pgbench.Find()
	if programs == "" {
		t.Fatal(pgbench.Install)
	}
	t.Setenv("TMPDIR", pgtest.OpenDir(t))
	c, err := pgbench.Start(t.Context(), programs)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Exec(t.Context(), "CREATE SEQUENCE s"); err != nil {
		t.Error(err)
	}
	r, err := c.Run(t.Context(), pgbench.Load{Clients: 2, SQL: "SELECT nextval('s')", Length: time.Second})
	if err != nil || r.Rate == 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := c.Run(t.Context(), pgbench.Load{Clients: 1, SQL: "SELECT nextval('none')", Length: time.Second}); err == nil {
		t.Errorf("a sequence that is not there gave %+v", r)
	}
	if v, err := c.Version(t.Context()); err != nil || v == "" {
		t.Errorf("version %q, %v", v, err)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
