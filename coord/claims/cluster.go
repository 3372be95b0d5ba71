package claims

import (
	"context"
	"errors"
	"fmt"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// cluster is the layout record as a coordinator knows it. It does not change; when
// the record does, the coordinator gets another one.
type cluster struct {
	entry   Entry
	text    string
	uuid    string
	workers int  // 0: an operator was not told
	daemon  bool // joined as a daemon, not inspected by an operator
	floor   generator.Tick
	era     string
	number  int // the era's
	window  generator.Tick
}

func clusterOf(l layout, entry Entry) *cluster {
	return &cluster{entry: entry, text: l.Layout, uuid: l.UUID, workers: l.Workers, floor: l.Floor, era: l.Era, window: l.Window}
}

// layout is the record that j is of.
func (j *cluster) layout() layout {
	return layout{Layout: j.text, UUID: j.uuid, Workers: j.workers, Floor: j.floor, Era: j.era, Window: j.window}
}

// raise is what all marks were raised to last.
func (j *cluster) raise() coord.Raise {
	return coord.Raise{Floor: j.floor, ClusterEpoch: j.era, Number: j.number}
}

// readLayout decodes the layout record.
func (c *Coordinator) readLayout(stored Entry) (layout, error) {
	l, err := decodeLayout(stored.Value)
	if err != nil {
		return layout{}, fmt.Errorf("%s: the layout record %s is damaged (%w); restore it from a backup, or use another prefix", c.store.Name(), c.store.Path("layout"), err)
	}
	return l, nil
}

// ready returns the cluster that was joined, or why the coordinator cannot be used.
func (c *Coordinator) ready() (*cluster, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, fmt.Errorf("%s: %w", c.store.Name(), coord.ErrClosed)
	case c.other != nil:
		return nil, fmt.Errorf("%s: %w", c.store.Name(), c.other)
	case c.gone != nil:
		return nil, fmt.Errorf("%s: %w", c.store.Name(), c.gone)
	case c.joined == nil:
		return nil, fmt.Errorf("%s: %w", c.store.Name(), coord.ErrNotJoined)
	}
	return c.joined, nil
}

// known returns the cluster that was joined; nil if none was.
func (c *Coordinator) known() *cluster {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.joined
}

// enter makes j the cluster that was joined, unless another one was before; was is
// what known returned before j was read.
func (c *Coordinator) enter(was, j *cluster) error {
	c.mu.Lock()
	now := c.joined
	switch {
	case now == nil:
		c.adopt(j)
	case now.uuid != j.uuid:
		c.mu.Unlock()
		return c.replaced(j.uuid)
	case now != was && (now.daemon || !j.daemon):
		// An answer that took long must not bring back what has changed since.
	default:
		if now.daemon { // a daemon that inspects stays one
			j.workers, j.daemon = now.workers, true
		}
		c.adopt(j)
	}
	c.mu.Unlock()
	return nil
}

// adopt makes j the cluster that is joined, and numbers its era. The caller holds mu.
func (c *Coordinator) adopt(j *cluster) {
	c.number(j)
	c.joined = j
}

// number numbers j's era, unless it has a number. The caller holds mu.
func (c *Coordinator) number(j *cluster) {
	number, seen := c.eras[j.era]
	if seen {
		j.number = number
		return
	}
	j.number = len(c.eras)
	c.eras[j.era] = j.number
	c.newest = j.raise()
}

// wentBack notes that a record is older than it was, which is final: what was
// granted since is unknown to the coordinator, and may be granted again. It is seen
// also where the servers do not tell, because others have written meanwhile.
func (c *Coordinator) wentBack(worker int, from, to int64) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone == nil {
		c.gone = &coord.RestoredError{Why: fmt.Sprintf("the record of worker ID %d went back from version %d to %d", worker, from, to)}
	}
	return fmt.Errorf("%s: %w", c.store.Name(), c.gone)
}

// replaced notes that the tree is another cluster's, which is final.
func (c *Coordinator) replaced(uuid string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.other == nil {
		c.other = &coord.ClusterError{Ours: c.joined.uuid, Cluster: uuid}
	}
	return fmt.Errorf("%s: %w", c.store.Name(), c.other)
}

// inCluster makes a request in the cluster that was joined and in no other. If the
// layout record has changed and is still that cluster's, the request is made again:
// it did nothing. Each time it is told what the layout record says.
func (c *Coordinator) inCluster(ctx context.Context, request func(j *cluster) error) error {
	for {
		j, err := c.ready()
		if err != nil {
			return err
		}
		err = request(j)
		var moved *MovedError
		if !errors.As(err, &moved) {
			return err
		}
		if err := c.judge(j, moved); err != nil {
			return err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%s: the layout record keeps changing: %w", c.store.Name(), ctx.Err())
		}
	}
}

// judge decides what a layout record means that is not the one of j, and takes it
// over if it is the same cluster's.
func (c *Coordinator) judge(j *cluster, moved *MovedError) error {
	var now layout
	if moved.Found.Version != 0 {
		var err error
		if now, err = decodeLayout(moved.Found.Value); err != nil {
			c.log.Error("the layout record is damaged", "path", c.store.Path("layout"), "error", err)
		}
	}
	switch {
	case now.UUID != j.uuid:
		return c.replaced(now.UUID)
	case moved.Restored != nil:
		return fmt.Errorf("%s: %w", c.store.Name(), moved.Restored)
	case now.Layout != j.text:
		return fmt.Errorf("%s: %w", c.store.Name(), &coord.LayoutError{Ours: j.text, Cluster: now.Layout})
	}
	next := *j
	next.entry, next.floor, next.era, next.window = moved.Found, now.Floor, now.Era, now.Window
	if next.era != j.era {
		c.log.Warn("all marks were raised: claims that were opened before are lost", "floor", next.floor, "before", j.floor)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// An answer that took long must not bring back what has changed since.
	if c.joined == j {
		c.adopt(&next)
	}
	return nil
}

// deal maps a sequence number to the worker ID that it names.
func (c *Coordinator) deal(j *cluster, number uint64) int {
	if c.spread {
		number += offsetOf(j.uuid)
	}
	return int(number % uint64(j.workers))
}

// offsetOf maps a UUID to where dealing begins (FNV-1a, 64 bits).
func offsetOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(s) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
