package client

import (
	"math"
	"sync/atomic"
	"time"
)

// run is IDs in stock: one pair of a reply. All but taken stays as it was made.
type run struct {
	taken atomic.Int64 // how many were claimed; above n once it is used up
	_     [56]byte     // what follows is only read

	n     int64
	mark  int64 // with this claim, counted from 1, it is time to fetch more; 0: this is said elsewhere
	first int64
	step  int64
	at    time.Time // before it was asked for
}

// younger reports whether less than limit has passed since at, by the monotonic clock and by the
// wall clock. The wall clock goes on while the machine is suspended; the monotonic clock does not.
// After the wall clock was set forward, younger may report false too early.
func younger(at time.Time, limit time.Duration) bool {
	now := time.Now()
	return now.Sub(at) < limit && time.Duration(now.UnixNano()-at.UnixNano()) < limit
}

// id is the ID of the t-th claim, counted from 1.
func (r *run) id(t int64) int64 { return r.first + (t-1)*r.step }

// claim takes up to want IDs: those from the claim after from to the claim to. It never adds more
// than n, so that taken cannot overflow.
func (r *run) claim(want int64) (from, to int64) {
	want = min(want, r.n)
	to = r.taken.Add(want)
	return min(to-want, r.n), min(to, r.n)
}

// used is how many of its IDs were claimed.
func (r *run) used() int64 { return min(r.taken.Load(), r.n) }

// passed reports whether the claims after from up to to have reached the mark.
func (r *run) passed(from, to int64) bool { return from < r.mark && r.mark <= to }

// piece is what the claims after from up to to are worth.
func (r *run) piece(from, to int64) Run {
	return Run{First: r.id(from + 1), N: int(to - from), Step: r.step}
}

// waiter is a call that gathers IDs: from stock, and then from replies.
type waiter struct {
	runs []Run
	need int64 // IDs still to come

	// Of the gathered, some are from stock, asked for before the call or, if it waits, before it
	// did. They may grow too old while the call waits for the others, which do not: they are drawn
	// while it waits. Those from stock are next to each other: behind what was drawn before they
	// were taken, and before what is drawn afterwards.
	oldAt  int   // the first of them in runs
	old    int   // runs
	oldIDs int64 // how many IDs they have
	oldest time.Time

	sends uint64 // requests that had been sent when it began to wait: the reply to a later one is its own
	since time.Time
	err   error
	ready chan struct{} // signalled when need is 0 or err is there
	one   [1]Run        // room for runs

	prev, next *waiter
	queued     bool
}

// newWaiter is one that appends n IDs to dst, or to room of its own if dst is nil.
func (c *Client) newWaiter(dst []Run, n int64) *waiter {
	w, ok := c.spare.Get().(*waiter)
	if !ok {
		w = &waiter{ready: make(chan struct{}, 1)}
	}
	*w = waiter{ready: w.ready, runs: dst, need: n}
	if dst == nil {
		w.runs = w.one[:0]
	}
	return w
}

// free gives w back. Nobody else may know it any more.
func (c *Client) free(w *waiter) {
	w.runs, w.err = nil, nil
	c.spare.Put(w)
}

// add gathers IDs of r, which is young, or was asked for while w waited: then it is w's own.
func (w *waiter) add(r *run, from, to int64, own bool) {
	if w.old == 0 && !own {
		w.oldAt, w.oldest = len(w.runs), r.at
	}
	w.runs = append(w.runs, r.piece(from, to))
	w.need -= to - from
	if own {
		return
	}
	w.old++
	w.oldIDs += to - from
}

// drop lets go of what is too old by now, and tells whether there was any.
func (w *waiter) drop(limit time.Duration) bool {
	if w.old == 0 || younger(w.oldest, limit) {
		return false
	}
	w.runs = append(w.runs[:w.oldAt], w.runs[w.oldAt+w.old:]...)
	w.need += w.oldIDs
	w.old, w.oldIDs = 0, 0
	return true
}

// queue is calls that wait, the first one first.
type queue struct {
	first, last *waiter
	need        int64 // of all of them
}

func (q *queue) push(w *waiter) {
	w.queued, w.prev, w.next = true, q.last, nil
	if q.last == nil {
		q.first = w
	} else {
		q.last.next = w
	}
	q.last = w
	q.need += w.need
}

// remove takes w out, which must be in.
func (q *queue) remove(w *waiter) {
	if w.prev == nil {
		q.first = w.next
	} else {
		w.prev.next = w.next
	}
	if w.next == nil {
		q.last = w.prev
	} else {
		w.next.prev = w.prev
	}
	w.queued, w.prev, w.next = false, nil, nil
	q.need -= w.need
}

// The methods below want c.mu held.

// drain has w gather what is in stock, in order. If that is not enough, there is no stock
// afterwards.
func (c *Client) drain(w *waiter) {
	for w.need > 0 {
		r := c.current.Load()
		if from, to := r.claim(w.need); from < to && younger(r.at, c.maxAge) {
			w.add(r, from, to, false)
			if r.passed(from, to) {
				c.runLow()
			}
			continue
		}
		c.used += r.used()
		if len(c.behind) == 0 {
			c.current.Store(c.nothing)
			return
		}
		c.current.Store(c.behind[0])
		c.behind = c.behind[1:]
	}
}

// runLow asks for more stock.
func (c *Client) runLow() {
	c.low = true
	signal(c.wake)
}

// signal has the fetcher look again.
func signal(wake chan<- struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// stock takes in the runs of a reply: those who wait are served first, in turn, and get what was
// drawn while they waited, however long that took. The others get none of it if it is too old, nor
// does it become stock. Of what does, it is time to fetch more with the mark-th claim of the whole
// reply, or with the first if that is passed.
func (c *Client) stock(sends uint64, runs []*run, mark int64) {
	young := younger(runs[0].at, c.maxAge)
	var served *waiter // the first of a list
	end := &served
	keep := c.behind
	for _, r := range runs {
		for w := c.waiting.first; w != nil && r.used() < r.n; w = c.waiting.first {
			own := w.sends < sends
			if !own && !young {
				break
			}
			from, to := r.claim(w.need)
			w.add(r, from, to, own)
			c.waiting.need -= to - from
			if w.need > 0 {
				continue
			}
			c.waiting.remove(w)
			*end, end = w, &w.next
		}
		handed := r.used()
		if handed == r.n || !young {
			c.used += handed
		} else {
			if mark = max(mark, handed+1); mark <= r.n {
				r.mark, mark = mark, math.MaxInt64
			}
			keep = append(keep, r)
		}
		mark -= r.n
	}
	if current := c.current.Load(); len(keep) > 0 && current.used() >= current.n {
		c.used += current.used()
		c.current.Store(keep[0])
		keep = keep[1:]
	}
	c.behind = keep
	// Whoever is told of an ID must not find stock from before it, so this comes last.
	for w := served; w != nil; {
		next := w.next
		w.next = nil
		w.ready <- struct{}{}
		w = next
	}
}

// fail answers those who wait and whom which picks with err.
func (c *Client) fail(which func(*waiter) bool, err error) {
	for w := c.waiting.first; w != nil; {
		next := w.next
		if which(w) {
			c.waiting.remove(w)
			w.err = err
			w.ready <- struct{}{}
		}
		w = next
	}
}

// handed is how many IDs were handed out so far.
func (c *Client) handed() int64 { return c.used + c.current.Load().used() }
