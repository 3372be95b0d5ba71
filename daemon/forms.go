package daemon

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/publicid"
)

// forms has the coder that writes IDs in their forms, for the cluster and with the keys that there
// are now.
type forms struct {
	layout *generator.Layout
	path   string // of the file of keys for public IDs; empty: there are none

	mu      sync.Mutex
	cluster string // its UUID; empty: not known yet
	keys    *publicid.Keys
	coder   atomic.Pointer[form.Coder]
}

// newForms makes them for a cluster that is not known yet. The file of keys is read.
func newForms(layout *generator.Layout, path string) (*forms, error) {
	f := &forms{layout: layout, path: path}
	if err := f.readKeys(); err != nil {
		return nil, err
	}
	return f, nil
}

// enter has UUIDs name a cluster. It is called before the first ID of the cluster is issued, and
// after the last reply with an ID of another one.
func (f *forms) enter(cluster string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cluster = cluster
	f.coder.Store(form.New(f.layout, cluster, f.keys))
}

// change is enter after a cold start, which may have been in another cluster. Its lanes have ended,
// but connections may have IDs from them that are still to be written: disconnect closes them.
func (f *forms) change(cluster string, disconnect func()) {
	f.mu.Lock()
	before := f.cluster
	f.mu.Unlock()
	if before != "" && before != cluster {
		disconnect()
	}
	f.enter(cluster)
}

// readKeys reads the file of keys, again if it has been read. On an error the last keys stay.
func (f *forms) readKeys() error {
	var keys *publicid.Keys
	if f.path != "" {
		var err error
		if keys, err = publicid.ReadFile(f.path); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.keys != nil {
		if err := keys.Follow(f.keys); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	f.keys = keys
	f.coder.Store(form.New(f.layout, f.cluster, keys))
	return nil
}
