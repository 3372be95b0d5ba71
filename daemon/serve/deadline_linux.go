package serve

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// A connection has two deadlines: when its request for IDs is tried again, and by when its client
// must have taken a reply. The loop's one timer is set to the earliest of all. When it fires, what
// is due is done, and the timer is set again.

// after is the time in d from now.
func (l *loop) after(d time.Duration) clockguard.Mono {
	return l.config.Clock.Now().Mono + clockguard.Mono(d)
}

// expect has the timer fire at due, or earlier.
func (l *loop) expect(due clockguard.Mono) {
	if due < l.due {
		l.due = due
		l.timer.set(due)
	}
}

// setTimer sets the timer to the earliest deadline.
func (l *loop) setTimer() {
	due := never
	for c := l.waiting.first; c != nil; c = c.next {
		due = min(due, c.due)
	}
	for c := range l.blocked {
		due = min(due, c.deadline)
	}
	l.due = due
	l.timer.set(due)
}

// expire does what is due, except for the waiting requests, which have been tried by now. If that
// has set the timer again, there is nothing to do.
func (l *loop) expire() {
	if l.timer.fired() {
		l.cutOff()
		l.setTimer()
	}
}

// retry goes on with the requests that are due, or, after a change, with all that wait for one. The
// longest waiting come first.
func (l *loop) retry(changed bool) {
	if l.waiting.first == nil {
		return
	}
	now := l.config.Clock.Now().Mono
	if !changed && now < l.due {
		return
	}
	due := l.scratch[:0]
	for c := l.waiting.first; c != nil; c = c.next {
		if c.due <= now || changed && c.event {
			due = append(due, c)
		}
	}
	for _, c := range due {
		if c.waits {
			l.serve(c, c.in)
		}
	}
	clear(due)
	l.scratch = due[:0]
	l.setTimer()
}

// cutOff ends the connections whose client has taken no reply for too long.
func (l *loop) cutOff() {
	if len(l.blocked) == 0 {
		return
	}
	now := l.config.Clock.Now().Mono
	for c := range l.blocked {
		if c.deadline <= now {
			l.config.Log.Warn("a client takes no replies; its connection ends",
				"connection", c.session.ID, "bytes", len(c.backlog)-c.sent, "after", l.config.Limits.WriteTimeout)
			l.drop(c)
		}
	}
}
