package daemon

import (
	"testing"

	"github.com/hashicorp/go-hclog"

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
		d := &Daemon{layout: layout, log: hclog.NewNullLogger()}
		d.enter(c.handed, nil)
		before, closed := d.coder.Load(), false
		d.enter(c.joined, func() {
			if closed = true; d.coder.Load() != before {
				t.Error("UUIDs named the other cluster while there were connections")
			}
		})
		if closed != c.closed || d.cluster != c.joined {
			t.Errorf("%+v: closed %t, in %s", c, closed, d.cluster)
		}
	}
}
