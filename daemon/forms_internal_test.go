package daemon

import (
	"testing"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Connections may hold IDs of the cluster before: they are closed before UUIDs name another one,
// and stay if it is the same or there was none.
func TestConnectionsEndBeforeUUIDsNameAnotherCluster(t *testing.T) {
	const a, b = "6f1c1a52-0b67-4b8e-9d6a-3c2f4e5d7a81", "0b7d1c58-6c1c-4b5e-9d1e-6f4f2a7c9b10"
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	for _, c := range []struct {
		handed, joined string
		closed         bool
	}{{"", a, false}, {a, a, false}, {a, b, true}} {
		f := newForms(layout)
		f.enter(c.handed)
		before, closed := f.coder.Load(), false
		f.change(c.joined, func() {
			if closed = true; f.coder.Load() != before {
				t.Error("UUIDs named the other cluster while there were connections")
			}
		})
		if closed != c.closed || f.cluster != c.joined {
			t.Errorf("%+v: closed %t, in %s", c, closed, f.cluster)
		}
	}
}
