package serve

import "golang.org/x/sys/unix"

// round answers the events that the poller has found.
type round struct {
	*loop
	putOff []int // events
}

// answer does what the events of a round ask for. Where they are many, each user's first ones come
// first, and then as many of the others as a round has time for: they come again.
func (r *round) answer(events []unix.EpollEvent) (notified bool) {
	next := r.turns.begin(r.handler, len(events))
	notified = r.notified.Load()
	r.putOff = r.putOff[:0]
	for range events {
		at := next
		if next++; next == len(events) {
			next = 0
		}
		switch int(events[at].Fd) {
		case r.notifier:
			notified = true
			continue
		case r.deadlines.timer.fd:
			// The waiting requests have been tried. If that has set the timer again, it has not
			// fired.
			if r.deadlines.timer.fired() {
				r.cutOff()
			}
			continue
		}
		if c := r.conn(&events[at]); c != nil && r.turns.first(c.load) {
			r.event(&events[at])
		} else {
			r.putOff = append(r.putOff, at)
		}
	}
	if len(r.putOff) > 0 {
		if r.turns.begun != 0 { // the others are not answered soon
			r.flush()
		}
		r.rest(events)
	}
	return notified
}

// rest goes on with the events that were put off.
func (r *round) rest(events []unix.EpollEvent) {
	r.turns.start()
	for i, at := range r.putOff {
		if r.turns.over(i) {
			r.turns.partial, r.turns.offset = true, at
			break
		}
		r.event(&events[at])
	}
	for _, at := range r.putOff {
		if r.conn(&events[at]) != nil {
			continue
		}
		of := r.turns.ofEpoll(int(events[at].Fd))
		if of == nil { // the connection has ended meanwhile
			continue
		}
		more := r.poller.more[:pollNow(of.epoll, r.poller.more[:], 0)]
		for i := range more {
			if r.turns.over(i) {
				break
			}
			r.event(&more[i])
		}
	}
}

// conn is whose event it is; nil: no connection's.
func (r *round) conn(ev *unix.EpollEvent) *conn {
	if int(ev.Fd) < len(r.conns) {
		return r.conns[ev.Fd]
	}
	return nil
}

// event handles a connection's event, unless its user has to give up memory first.
func (r *round) event(ev *unix.EpollEvent) {
	c := r.conn(ev)
	if c == nil || r.room.over && c.user() == r.room.heaviest && ev.Events&(unix.EPOLLHUP|unix.EPOLLERR) == 0 {
		return // it comes again
	}
	r.poller.batching.saw(&c.epoch)
	r.handle(c, ev.Events)
}
