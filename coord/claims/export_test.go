package claims

import (
	"bytes"
	"errors"
	"testing"

	"github.com/flakeward/flakeward/coord"
)

// wholeExport is an export with a sum.
func wholeExport(cluster string, workers ...exported) []byte {
	e := export{Format: exportFormat, Cluster: []byte(cluster), Workers: workers}
	e.Sum = e.sum()
	return encode(e)
}

func FuzzDecodeExport(f *testing.F) {
	const cluster = `{"layout":"l","uuid":"u","identity":"i","workers":8}`
	record, history := []byte(`{"ceiling":5,"holder":"h","nonce":"n"}`), []byte("[]")
	f.Add(wholeExport(cluster))
	f.Add(wholeExport(cluster, exported{1, record, history}, exported{3, []byte("damaged\xff"), nil}))
	f.Add(wholeExport(cluster, exported{3, record, nil}, exported{3, record, nil}))
	f.Add(wholeExport(cluster, exported{-1, record, nil}))
	f.Add(wholeExport(cluster, exported{coord.MaxWorkers, record, nil}))
	f.Add(wholeExport(`{"layout":"l","uuid":"u","identity":"i","exported":true}`))
	f.Add(wholeExport(`{"layout":"l","uuid":"u","identity":"i","importing":"x"}`))
	f.Add(wholeExport(`{}`))
	f.Add([]byte(`{"format":"flakeward-cluster-1","cluster":{"layout":"l","uuid":"u","identity":"i"},"workers":[]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, l, err := decodeExport(b)
		if err != nil {
			if !errors.Is(err, coord.ErrExport) || l != (layout{}) || e.Workers != nil {
				t.Errorf("%q: %v together with %+v, %+v", b, err, e, l)
			}
			return
		}
		if l.served() != nil || l.UUID == "" {
			t.Errorf("%q was taken as %+v", b, l)
		}
		for i, w := range e.Workers {
			if w.Worker < 0 || w.Worker >= coord.MaxWorkers || i > 0 && w.Worker <= e.Workers[i-1].Worker {
				t.Errorf("%q was taken as %+v", b, e)
			}
		}
		if again, _, err := decodeExport(encode(e)); err != nil || !bytes.Equal(encode(again), encode(e)) {
			t.Errorf("%+v encodes to %+v, %v", e, again, err)
		}
	})
}
