package gobench_test

import (
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/bench/gobench"
)

const output = `goos: linux
goarch: amd64
pkg: example.org/generator
cpu: AMD EPYC
BenchmarkTimeNow-2           	25907180	        46.36 ns/op	       0 B/op	       0 allocs/op
BenchmarkTimeNow-2           	25907181	        47.00 ns/op	       0 B/op	       0 allocs/op
Benchmarking is fun, says a test
BenchmarkCeiling/goroutines=1-2         	 4907180	       244.1 ns/op	 4095999 IDs/s	        99.90 %ofceiling	       0 B/op	       0 allocs/op
BenchmarkBare 	       1	       5 ns/op
BenchmarkFailed-2
PASS
`

func TestParse(t *testing.T) {
	got, err := gobench.Parse(strings.NewReader(output))
	if err != nil {
		t.Fatal(err)
	}
	want := gobench.Results{
		"BenchmarkTimeNow": {"ns/op": {46.36, 47}, "B/op": {0, 0}, "allocs/op": {0, 0}},
		"BenchmarkCeiling/goroutines=1": {
			"ns/op": {244.1}, "IDs/s": {4095999}, "%ofceiling": {99.9}, "B/op": {0}, "allocs/op": {0},
		},
		"BenchmarkBare": {"ns/op": {5}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v\nwant %v", got, want)
	}
	if v, err := got.Values("BenchmarkTimeNow", "ns/op"); err != nil || len(v) != 2 {
		t.Errorf("the values are %v, %v", v, err)
	}
	if v, err := got.Values("BenchmarkTimeNow", "IDs/s"); err == nil {
		t.Errorf("a unit that was not measured has the values %v", v)
	}
}

// Most is the largest value of a round, whichever benchmark it is of.
func TestMost(t *testing.T) {
	r := gobench.Results{"A": {"allocs/op": {0, 2, 0}}, "B": {"allocs/op": {1, 1, 0}}, "C": {"allocs/op": {0}}}
	if got, err := r.Most("allocs/op", "A", "B"); err != nil || !slices.Equal(got, []float64{1, 2, 0}) {
		t.Errorf("%v, %v", got, err)
	}
	if !slices.Equal(r["A"]["allocs/op"], []float64{0, 2, 0}) {
		t.Errorf("the values themselves have changed: %v", r)
	}
	for _, names := range [][]string{{"A", "C"}, {"A", "D"}} {
		if got, err := r.Most("allocs/op", names...); err == nil {
			t.Errorf("%v: %v and no error", names, got)
		}
	}
}

// The benchmarks run in turn, round after round.
func TestDoInTurn(t *testing.T) {
	r, err := gobench.Run{
		Dir: t.TempDir(), Package: "github.com/flakeward/flakeward/bench/gobench/testdata/turns", Pattern: "^Benchmark", Count: 3, For: 1,
		Env: []string{"FLAKEWARD_TEST_TURNS=" + filepath.Join(t.TempDir(), "turns")},
	}.Do(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]float64{"BenchmarkA": {0, 2, 4}, "BenchmarkB": {1, 3, 5}} {
		if got, err := r.Values(name, "turn"); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s had the turns %v, want %v; %v", name, got, want, err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, out := range []string{"", "PASS\n", "BenchmarkA-2 1 fast ns/op\n", "BenchmarkA-2 1 NaN ns/op\n"} {
		if got, err := gobench.Parse(strings.NewReader(out)); err == nil {
			t.Errorf("%q gave %v and no error", out, got)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(output)
	f.Add("BenchmarkA-2 1 NaN ns/op -Inf B/op\n")
	f.Fuzz(func(t *testing.T, out string) {
		r, err := gobench.Parse(strings.NewReader(out))
		if (err == nil) != (len(r) > 0) {
			t.Errorf("%v, %v", r, err)
		}
		for name, units := range r {
			for unit := range units {
				values, err := r.Values(name, unit)
				if err != nil || !strings.HasPrefix(name, "Benchmark") || strings.ContainsAny(name+unit, " \n") || slices.ContainsFunc(values, func(v float64) bool { return v-v != 0 }) {
					t.Errorf("%q measured %v of %q, %v", name, values, unit, err)
				}
			}
		}
	})
}
