package grant

import (
	"fmt"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// trouble is what keeps the ceiling from rising, and since when.
type trouble struct {
	mu            sync.Mutex
	lending, disk *ailment
}

type ailment struct {
	err   error
	since time.Time
}

// set notes how a try of one kind ended; which is &t.lending or &t.disk. It returns how the one before it did.
func (t *trouble) set(which **ailment, now clockguard.Reading, err error) (before error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := time.Unix(0, now.Wall).UTC()
	if *which != nil {
		before, since = (*which).err, (*which).since
	}
	*which = nil
	if err != nil {
		*which = &ailment{err: err, since: since}
	}
	return before
}

// Trouble says what keeps IDs from being issued beyond the ceiling, and since when; nil if nothing does. The disk goes first: what it
// holds back is the nearer of the two ceilings.
func (k *Keeper) Trouble() error {
	t := &k.trouble
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range []*ailment{t.disk, t.lending} {
		if a != nil {
			return fmt.Errorf("since %s: %w", a.since.Format(time.RFC3339), a.err)
		}
	}
	return nil
}

// NotJoined notes why the cluster could not be joined.
func (k *Keeper) NotJoined(err error) {
	k.lending.reachable.Store(false)
	k.trouble.set(&k.trouble.lending, k.now(), err)
}
