package daemon

import (
	"sync"
	"sync/atomic"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// forms has the coder that writes IDs in their forms, for the cluster that there is now.
type forms struct {
	layout *generator.Layout

	mu      sync.Mutex
	cluster string // its UUID; empty: not known yet
	coder   atomic.Pointer[form.Coder]
}

// newForms makes them for a cluster that is not known yet.
func newForms(layout *generator.Layout) *forms {
	f := &forms{layout: layout}
	f.enter("")
	return f
}

// enter has UUIDs name a cluster. It is called before the first ID of the cluster is issued, and
// after the last reply with an ID of another one.
func (f *forms) enter(cluster string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cluster = cluster
	f.coder.Store(form.New(f.layout, cluster))
}

// change is enter where connections may have IDs of another cluster that are still to be written:
// disconnect closes them.
func (f *forms) change(cluster string, disconnect func()) {
	f.mu.Lock()
	before := f.cluster
	f.mu.Unlock()
	if before != "" && before != cluster {
		disconnect()
	}
	f.enter(cluster)
}
