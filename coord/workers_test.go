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
