package expand_test

import (
	"bytes"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/bench/expand"
)

// run is what AddRun takes.
type run struct{ first, step, n int64 }

func runs(t *rapid.T, name string) []run {
	return rapid.SliceOfN(rapid.Custom(func(t *rapid.T) run {
		return run{rapid.Int64Range(0, 20000).Draw(t, "first"), rapid.Int64Range(1, 3).Draw(t, "step"), rapid.Int64Range(0, 9000).Draw(t, "n")}
	}), 0, 5).Draw(t, name)
}

// add puts runs into a set and into a plain model of it.
func add(t *rapid.T, s *expand.Set, model map[int64]int64, all []run) {
	for _, r := range all {
		if err := s.AddRun(r.first, r.step, r.n); err != nil {
			t.Fatal(err)
		}
		for i := range r.n {
			model[r.first+i*r.step]++
		}
	}
}

// A set counts every ID, and as duplicates those that were there before, also when it was written
// and read; two sets together count what is in both.
func TestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b, together := expand.NewSet(), expand.NewSet(), expand.NewSet()
		inA, inB := map[int64]int64{}, map[int64]int64{}
		add(t, a, inA, runs(t, "a"))
		add(t, b, inB, runs(t, "b"))
		for _, c := range []struct {
			set   *expand.Set
			model map[int64]int64
		}{{a, inA}, {b, inB}} {
			count, duplicates := int64(0), int64(0)
			for _, times := range c.model {
				count += times
				duplicates += times - 1
			}
			if c.set.Count() != count || c.set.Duplicates() != duplicates {
				t.Errorf("%d IDs and %d duplicates, want %d and %d", c.set.Count(), c.set.Duplicates(), count, duplicates)
			}
			var file bytes.Buffer
			written, err := c.set.WriteTo(&file)
			if err != nil || written != int64(file.Len()) {
				t.Fatal(written, err)
			}
			if read, err := together.ReadFrom(&file); err != nil || read != written {
				t.Fatal(read, err)
			}
		}
		both := int64(0)
		for id := range inA {
			if inB[id] > 0 {
				both++
			}
		}
		if together.Count() != int64(len(inA)+len(inB)) || together.Duplicates() != both {
			t.Errorf("together %d IDs and %d duplicates, want %d and %d", together.Count(), together.Duplicates(), len(inA)+len(inB), both)
		}
	})
}

func TestAddRunRefuses(t *testing.T) {
	s := expand.NewSet()
	for _, r := range []run{{-1, 1, 1}, {0, 0, 1}, {0, -1, 5}, {0, 1, -1}, {math.MaxInt64, 1, 2}, {1, math.MaxInt64, 2}} {
		if err := s.AddRun(r.first, r.step, r.n); err == nil || s.Count() != 0 {
			t.Errorf("%+v is taken", r)
		}
	}
	if err := s.AddRun(math.MaxInt64-1, 1, 1); err != nil || s.Count() != 1 {
		t.Errorf("%d IDs, %v", s.Count(), err)
	}
}

// FuzzReadFrom: refused, or written anew as it was, with as many IDs as were counted.
func FuzzReadFrom(f *testing.F) {
	s := expand.NewSet()
	if err := s.AddRun(4000, 1, 200); err != nil {
		f.Fatal(err)
	}
	var file bytes.Buffer
	if _, err := s.WriteTo(&file); err != nil {
		f.Fatal(err)
	}
	f.Add(file.Bytes())
	f.Add(file.Bytes()[:file.Len()-1])
	f.Add(append(file.Bytes(), file.Bytes()...))
	f.Fuzz(func(t *testing.T, b []byte) {
		s := expand.NewSet()
		if _, err := s.ReadFrom(bytes.NewReader(b)); err != nil {
			return
		}
		var again bytes.Buffer
		if _, err := s.WriteTo(&again); err != nil || !bytes.Equal(again.Bytes(), b) {
			t.Errorf("%d bytes are written anew as %d, %v", len(b), again.Len(), err)
		}
		if s.Count() < 0 || s.Duplicates() != 0 {
			t.Errorf("%d IDs, %d duplicates", s.Count(), s.Duplicates())
		}
	})
}

func BenchmarkAddRun(b *testing.B) {
	s := expand.NewSet()
	first := int64(0)
	for b.Loop() {
		if err := s.AddRun(first%(1<<24), 1, 4096); err != nil {
			b.Fatal(err)
		}
		first += 4096
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(s.Count()), "ns/ID")
}
