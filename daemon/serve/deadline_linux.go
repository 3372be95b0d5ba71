package serve

import (
	"container/heap"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
)

// deadlines are the connections that wait until a time. A connection has two timeouts: when its
// request for IDs is tried again, and by when its client must have taken a reply. One timer is set
// to the earliest of all. When it fires, the loop does what is due, and the timer is set again.
//
// A request that waits in turn is not tried until its source names it, so that of thousands that
// wait, only those are tried that get something.
type deadlines struct {
	clock   clockguard.Clock
	timer   *timer
	source  dealer        // nil: each request is tried again and again
	count   *atomic.Int64 // how many connections wait for IDs
	waiting timeouts      // theirs, and of several of the same time the longest waiting first
	waits   uint64        // how many have begun to wait
	blocked timeouts      // of connections whose client has not taken all replies
	inTurn  int           // how many wait in turn
	deal    clockguard.Mono
	feed    clockguard.Mono // when the watchdog is fed
	sweep   clockguard.Mono // when idle connections are looked for
}

// dealer is a source whose requests wait in turn: issue.Issuer's Deal and Arrived.
type dealer interface {
	Deal(named func(*issue.Connection)) (again time.Duration)
	Arrived(c *issue.Connection)
}

// wait has the connection wait for IDs. A connection that got something takes its place behind the
// others; one that did not, keeps it.
func (d *deadlines) wait(c *conn, next resp.Next, progress bool) {
	if next.For <= 0 && !next.Event {
		next.For = vagueWait
	}
	due, inTurn := never, d.source != nil && next.InTurn > 0
	switch {
	case inTurn:
		due = d.after(next.InTurn)
		if again := d.after(next.For); d.inTurn == 0 || again < d.deal {
			d.deal = again
		}
	case next.For > 0:
		due = d.after(next.For)
	}
	if progress {
		d.endWait(c)
	}
	if !c.waits {
		c.waits = true
		d.count.Add(1)
		d.waits++
		c.again.since = d.waits
	}
	d.setInTurn(c, inTurn)
	c.event = next.Event
	d.waiting.set(&c.again, due)
	d.expect(due)
	if inTurn {
		d.expect(d.deal)
	}
}

func (d *deadlines) setInTurn(c *conn, inTurn bool) {
	if c.inTurn != inTurn {
		c.inTurn = inTurn
		if inTurn {
			d.inTurn++
		} else {
			d.inTurn--
		}
	}
}

func (d *deadlines) endWait(c *conn) {
	if c.waits {
		c.waits = false
		d.count.Add(-1)
		d.setInTurn(c, false)
		d.waiting.end(&c.again)
	}
}

// block begins, or begins anew, the time in which the client must take a reply.
func (d *deadlines) block(c *conn, limit time.Duration) {
	d.blocked.set(&c.reply, d.after(limit))
	d.expect(c.reply.at)
}

func (d *deadlines) unblock(c *conn) { d.blocked.end(&c.reply) }

// after is the time in wait from now.
func (d *deadlines) after(wait time.Duration) clockguard.Mono {
	return d.clock.Now().Mono + clockguard.Mono(wait)
}

// expect has the timer fire at due, or earlier.
func (d *deadlines) expect(due clockguard.Mono) { d.timer.set(min(due, d.timer.due)) }

// setTimer sets the timer to the earliest deadline.
func (d *deadlines) setTimer() {
	due := min(d.sweep, d.feed, d.waiting.earliest(), d.blocked.earliest())
	if d.inTurn > 0 {
		due = min(due, d.deal)
	}
	d.timer.set(due)
}

// due readies what is to be tried by now, and tells whether there is any: requests whose time has
// come, those that the source names, and, after a change, those that wait for one.
func (d *deadlines) due(now clockguard.Mono, changed bool) bool {
	if changed {
		for _, a := range d.waiting {
			if a.conn.event || a.conn.inTurn {
				a.at = min(a.at, now)
			}
		}
		heap.Init(&d.waiting)
	}
	if d.inTurn > 0 && now >= d.deal {
		again := d.source.Deal(func(of *issue.Connection) {
			if c, ok := of.Owner.(*conn); ok && c.waits {
				d.waiting.set(&c.again, min(c.again.at, now))
			}
		})
		if again <= 0 {
			again = vagueWait
		}
		d.deal = d.after(again)
	}
	return d.waiting.earliest() <= now
}

// late returns a connection whose client has taken no reply for too long, if there is one.
func (d *deadlines) late(now clockguard.Mono) *conn {
	if d.blocked.earliest() > now {
		return nil
	}
	return d.blocked[0].conn
}
