package client

import (
	"context"
	"fmt"
	"iter"
)

// Run is some IDs that are Step apart. Step is 1 where the sequence is the lowest field of the
// layout, and higher elsewhere.
type Run struct {
	First int64
	N     int
	Step  int64
}

// ID returns the i-th ID of the run, counted from 0. i must be at least 0 and below N.
func (r Run) ID(i int) int64 { return r.First + int64(i)*r.Step }

// IDs returns an iterator over the IDs of the run.
func (r Run) IDs() iter.Seq[int64] {
	return func(yield func(int64) bool) {
		for i := range r.N {
			if !yield(r.ID(i)) {
				return
			}
		}
	}
}

// Take returns n new IDs, as runs in the order in which they were drawn. n is at least 1 and may be
// more than the daemon gives in one request. An ID is at most MaxAge old when Take returns, or was
// drawn while Take waited. After an error there are none: what was drawn already is lost. The
// errors are those of Next, and one for an n that is below 1.
func (c *Client) Take(ctx context.Context, n int) ([]Run, error) {
	return c.AppendTake(ctx, make([]Run, 0, 4), n)
}

// AppendTake is Take into a slice of the caller's: it appends the runs to dst, and allocates
// nothing if they fit. After an error it returns dst as it was.
func (c *Client) AppendTake(ctx context.Context, dst []Run, n int) ([]Run, error) {
	if n < 1 {
		return dst, fmt.Errorf("flakeward: %d IDs cannot be taken: ask for 1 or more", n)
	}
	if dst == nil {
		dst = []Run{}
	}
	want := int64(n)
	r := c.current.Load()
	from, to := r.claim(want)
	young := from < to && younger(r.at, c.maxAge)
	if young && r.passed(from, to) {
		c.mu.Lock()
		c.runLow()
		c.mu.Unlock()
	}
	if young && to-from == want {
		return append(dst, r.piece(from, to)), nil
	}
	w := c.newWaiter(dst, want)
	defer c.free(w)
	if young {
		w.add(r, from, to, false)
	}
	if err := c.gather(ctx, w); err != nil {
		return dst, err
	}
	return w.runs, nil
}
