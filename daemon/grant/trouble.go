package grant

import (
	"fmt"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// trouble is what keeps the ceiling from rising, and since when.
type trouble struct {
	mu                sync.Mutex
	coordinator, disk *condition
}

type condition struct {
	err   error
	since time.Time
}

// set notes how a try of one kind ended; which is &t.coordinator or &t.disk. It returns how the one
// before it did.
func (t *trouble) set(which **condition, now clockguard.Reading, err error) (before error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	since := time.Unix(0, now.Wall).UTC()
	if *which != nil {
		before, since = (*which).err, (*which).since
	}
	*which = nil
	if err != nil {
		*which = &condition{err: err, since: since}
	}
	return before
}

// Condition says what keeps IDs from being issued beyond the ceiling, and since when; nil if
// nothing does. The disk goes first: what it holds back is the nearer of the two ceilings. Where
// the floor is what the clock has not reached, it says when that will be.
func (k *Holder) Condition() error {
	err, early := k.trouble.worst(), k.early()
	if err == nil {
		err = k.late()
	}
	switch {
	case err == nil:
		return early
	case early == nil:
		return err
	default:
		return fmt.Errorf("%w (%w)", early, err)
	}
}

// worst is the first condition that there is.
func (t *trouble) worst() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, a := range []*condition{t.disk, t.coordinator} {
		if a != nil {
			return fmt.Errorf("since %s: %w", a.since.Format(time.RFC3339), a.err)
		}
	}
	return nil
}

// early says until when nothing can be issued because the worker ID may have been issued from up to
// there; nil if that is not long.
func (k *Holder) early() error {
	h := k.snapshot().current
	if h.lane == nil || h.lane.Closed() {
		return nil
	}
	first := h.lane.Floor() + 1
	if time.Duration(k.Layout.UnixNanos(first)-k.now().Wall) <= k.FirstWait {
		return nil
	}
	return fmt.Errorf("worker ID %d may have been issued from up to a time that the clock has not reached; no ID before %s",
		h.worker, k.Layout.StartOf(first).UTC().Format(time.RFC3339))
}

// late says since when the clock is ahead of the lane's ceiling although nothing has failed: an
// answer is waited for. nil if it is not.
func (k *Holder) late() error {
	h := k.snapshot().current
	if h.lane == nil || h.lane.Closed() || k.tick() <= h.lane.Ceiling() {
		return nil
	}
	since := k.Layout.StartOf(h.lane.Ceiling() + 1).UTC().Format(time.RFC3339)
	if h.lane.Ceiling() < h.granted {
		return fmt.Errorf("since %s: the journal's next mark is not on disk yet", since)
	}
	return fmt.Errorf("since %s: the grant of worker ID %d has ended and coordinator %s has not answered yet", since, h.worker, k.Coord)
}

// NotJoined notes why the cluster could not be joined.
func (k *Holder) NotJoined(err error) {
	k.requests.reachable.Store(false)
	k.poison(err)
	k.trouble.set(&k.trouble.coordinator, k.now(), err)
}
