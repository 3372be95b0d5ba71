package serve

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/resp"
)

// deadlines are the connections that wait until a time. A connection has two deadlines: when its
// request for IDs is tried again, and by when its client must have taken a reply. One timer is set
// to the earliest of all. When it fires, the loop does what is due, and the timer is set again.
type deadlines struct {
	clock   clockguard.Clock
	timer   *timer
	waiting list               // connections whose request waits for IDs, longest first
	blocked map[*conn]struct{} // connections whose client has not taken all replies
}

// wait has the connection wait for IDs. A connection that got something takes its place behind the
// others; one that did not, keeps it.
func (d *deadlines) wait(c *conn, next resp.Next, progress bool) {
	if next.For <= 0 && !next.Event {
		next.For = vagueWait
	}
	c.event = next.Event
	c.due = never
	if next.For > 0 {
		c.due = d.after(next.For)
	}
	if progress {
		d.endWait(c)
	}
	if !c.waits {
		c.waits = true
		d.waiting.append(c)
	}
	d.expect(c.due)
}

func (d *deadlines) endWait(c *conn) {
	if c.waits {
		c.waits = false
		d.waiting.remove(c)
	}
}

// block begins, or begins anew, the time in which the client must take a reply.
func (d *deadlines) block(c *conn, limit time.Duration) {
	c.deadline = d.after(limit)
	d.blocked[c] = struct{}{}
	d.expect(c.deadline)
}

// after is the time in wait from now.
func (d *deadlines) after(wait time.Duration) clockguard.Mono {
	return d.clock.Now().Mono + clockguard.Mono(wait)
}

// expect has the timer fire at due, or earlier.
func (d *deadlines) expect(due clockguard.Mono) { d.timer.set(min(due, d.timer.due)) }

// setTimer sets the timer to the earliest deadline.
func (d *deadlines) setTimer() {
	due := never
	for c := d.waiting.first; c != nil; c = c.next {
		due = min(due, c.due)
	}
	for c := range d.blocked {
		due = min(due, c.deadline)
	}
	d.timer.set(due)
}

// retries appends to room the connections whose request is due, or, after a change, waits for one.
// The longest waiting come first.
func (d *deadlines) retries(changed bool, room []*conn) []*conn {
	if d.waiting.first == nil {
		return room
	}
	now := d.clock.Now().Mono
	if !changed && now < d.timer.due {
		return room
	}
	for c := d.waiting.first; c != nil; c = c.next {
		if c.due <= now || changed && c.event {
			room = append(room, c)
		}
	}
	return room
}

// late returns the connections whose client has taken no reply for too long.
func (d *deadlines) late() (late []*conn) {
	if len(d.blocked) == 0 {
		return nil
	}
	now := d.clock.Now().Mono
	for c := range d.blocked {
		if c.deadline <= now {
			late = append(late, c)
		}
	}
	return late
}

// list is the connections that wait, in the order they began to.
type list struct{ first, last *conn }

func (q *list) append(c *conn) {
	c.previous, c.next = q.last, nil
	if q.last == nil {
		q.first = c
	} else {
		q.last.next = c
	}
	q.last = c
}

func (q *list) remove(c *conn) {
	if c.previous == nil {
		q.first = c.next
	} else {
		c.previous.next = c.next
	}
	if c.next == nil {
		q.last = c.previous
	} else {
		c.next.previous = c.previous
	}
	c.previous, c.next = nil, nil
}
