package coord_test

import (
	"testing"

	"github.com/flakeward/flakeward/coord"
)

func FuzzParseWorkerRange(f *testing.F) {
	for _, text := range []string{"", "0-0", "512-1023", "-1", "5-3", "0-99999999999", "07-9", "1-2-3"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		r, err := coord.ParseWorkerRange(text)
		if err != nil || text == "" {
			if r != (coord.WorkerRange{}) {
				t.Errorf("%q: an error comes with %v", text, r)
			}
			return
		}
		again, err := coord.ParseWorkerRange(r.String())
		if err != nil || again != r || !r.Has(r.First) || !r.Has(r.Last()) || r.Has(r.Last()+1) || r.Last() >= coord.MaxWorkers {
			t.Errorf("%q is %+v, which reads back as %+v, %v", text, r, again, err)
		}
	})
}

func TestWithout(t *testing.T) {
	all := coord.WorkerRange{First: 2, Count: 6}
	for _, other := range []coord.WorkerRange{{First: 2, Count: 6}, {First: 2, Count: 1}, {First: 7, Count: 1}, {First: 4, Count: 2}} {
		seen := map[int]bool{}
		for _, r := range all.Without(other) {
			for worker := r.First; worker <= r.Last(); worker++ {
				if seen[worker] || !all.Has(worker) || other.Has(worker) {
					t.Errorf("%v without %v has %d", all, other, worker)
				}
				seen[worker] = true
			}
		}
		if len(seen) != all.Count-other.Count {
			t.Errorf("%v without %v has %d worker IDs", all, other, len(seen))
		}
	}
}
