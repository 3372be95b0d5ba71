package inprocess

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Each generator makes IDs, for one goroutine and for several, and no more than its layout has.
func TestGenerators(t *testing.T) {
	seen := map[string]bool{}
	for _, g := range Generators {
		if seen[g.Name] {
			t.Errorf("two are called %q", g.Name)
		}
		seen[g.Name] = true
		if found, err := Find(g.Name); err != nil || found.Layout != g.Layout {
			t.Errorf("%s is not found: %v", g.Name, err)
		}
		for _, goroutines := range []int{1, 5} {
			r, err := g.Measure(t.Context(), goroutines, time.Millisecond, 30*time.Millisecond)
			if err != nil || r.IDs < 0 || r.Took < 30*time.Millisecond || r.CPU < 0 {
				t.Errorf("%s, %d goroutines: %+v, %v", g.Name, goroutines, r, err)
			}
			// What was counted late may have been made before, one batch in each goroutine, and a
			// tick or two more.
			if most := g.Ceiling*r.Took.Seconds() + float64(goroutines*batch) + g.Ceiling/50; g.Ceiling > 0 && float64(r.IDs) > most {
				t.Errorf("%s, %d goroutines: %d IDs in %v are more than its layout has", g.Name, goroutines, r.IDs, r.Took)
			}
		}
	}
	if g, err := Find("none"); err == nil {
		t.Errorf("found %+v", g)
	}
}

// flakeward's IDs rise for each caller and are never the same for two, also where they have to wait
// for ticks: this layout has 16 in each.
func TestCallers(t *testing.T) {
	i, err := issuer("time=41@1ms,worker=10,sequence=4;epoch=2026-01-01")
	if err != nil {
		t.Fatal(err)
	}
	var ids [2]sink
	callers := []Next{caller(i, &ids[0]), caller(i, &ids[1])}
	seen := map[uint64]bool{}
	for range 100 {
		for c, next := range callers {
			last := ids[c].id
			if err := next(); err != nil {
				t.Fatal(err)
			}
			if id := ids[c].id; id <= last || seen[id] {
				t.Fatalf("caller %d got %d after %d", c, id, last)
			}
			seen[ids[c].id] = true
		}
	}
}

func TestWhatCannotBeMeasured(t *testing.T) {
	if _, err := flakeward("nonsense")(); err == nil {
		t.Error("a layout that is none is taken")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if r, err := Generators[0].Measure(ctx, 1, time.Hour, time.Hour); err == nil {
		t.Errorf("%+v after the end", r)
	}
	g := Generator{Name: "x", Open: func() (func() Next, error) {
		return func() Next { return func() error { return context.DeadlineExceeded } }, nil
	}}
	if r, err := g.Measure(t.Context(), 2, 0, time.Millisecond); err == nil || !strings.HasPrefix(err.Error(), "x: ") {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestResult(t *testing.T) {
	r := Result{IDs: 3000, Took: 1500 * time.Millisecond, CPU: 3 * time.Second}
	if r.Rate() != 2000 || r.CPUEach() != 0.001 {
		t.Errorf("%v a second, %v s each", r.Rate(), r.CPUEach())
	}
}
