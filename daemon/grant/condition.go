package grant

import (
	"fmt"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// condition is what of one kind keeps the ceiling from rising, and since when.
type condition struct {
	mu    sync.Mutex
	err   error // nil: nothing
	since time.Time
}

// set notes how a try ended. It returns how the one before it did.
func (c *condition) set(now clockguard.Reading, err error) (before error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	before = c.err
	if before == nil {
		c.since = time.Unix(0, now.Wall).UTC()
	}
	c.err = err
	return before
}

// get says what it is, and since when; nil if it is nothing.
func (c *condition) get() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		return nil
	}
	return fmt.Errorf("since %s: %w", c.since.Format(time.RFC3339), c.err)
}

// Condition says what keeps IDs from being issued beyond the ceiling, and since when; nil if
// nothing does. The disk goes first: what it holds back is the nearer of the two ceilings. Where
// the floor is what the clock has not reached, it says when that will be.
func (k *Holder) Condition() error {
	h := k.held.snapshot().current
	err, early := k.held.writer.disk.get(), k.pace.early(h)
	if err == nil {
		err = k.contact.condition.get()
	}
	if err == nil {
		err = k.pace.late(h, k.Coord)
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

// early says until when nothing can be issued because the worker ID may have been issued from up to
// there; nil if that is not long.
func (p *pace) early(h holding) error {
	if h.lane == nil || h.lane.Closed() {
		return nil
	}
	first := h.lane.Floor() + 1
	if time.Duration(p.layout.UnixNanos(first)-p.now().Wall) <= p.firstWait {
		return nil
	}
	return fmt.Errorf("worker ID %d may have been issued from up to a time that the clock has not reached; no ID before %s",
		h.worker, p.layout.StartOf(first).UTC().Format(time.RFC3339))
}

// late says since when the clock is ahead of the lane's ceiling although nothing has failed: an
// answer is waited for. nil if it is not.
func (p *pace) late(h holding, coordinator string) error {
	if h.lane == nil || h.lane.Closed() || p.tick() <= h.lane.Ceiling() {
		return nil
	}
	since := p.layout.StartOf(h.lane.Ceiling() + 1).UTC().Format(time.RFC3339)
	if h.lane.Ceiling() < h.granted {
		return fmt.Errorf("since %s: the journal's next mark is not on disk yet", since)
	}
	return fmt.Errorf("since %s: the grant of worker ID %d has ended and coordinator %s has not answered yet", since, h.worker, coordinator)
}
