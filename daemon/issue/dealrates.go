package issue

import (
	"slices"
	"time"

	"github.com/flakeward/flakeward/daemon/queue"
)

// Deal is Issuer.Deal, for the requests that wait for a rate as well.
func (l *Limited) Deal(named func(*Connection)) (again time.Duration) {
	again = l.issuer.Deal(named)
	now := l.clock.Now().Mono
	for at := 0; ; at++ {
		a := l.waitedFor(at)
		if a == nil {
			return again
		}
		a.mu.Lock()
		if a.queue.Len() == 0 {
			l.end(a)
			at--
		} else {
			a.deal(a.allowed(now))
			a.queue.Shares(func(r *queue.Request) { named(r.Of.(*Connection)) })
			again = sooner(again, l.again(1))
		}
		a.mu.Unlock()
	}
}

// waitedFor is one of the allowances that requests wait for; nil: there are no more.
func (l *Limited) waitedFor(at int) *allowance {
	l.turns.Lock()
	defer l.turns.Unlock()
	if at >= len(l.waiting) {
		return nil
	}
	return l.waiting[at]
}

// begin notes that requests wait for an allowance. The caller holds its mu.
func (l *Limited) begin(a *allowance) {
	l.turns.Lock()
	defer l.turns.Unlock()
	if !slices.Contains(l.waiting, a) {
		l.waiting = append(l.waiting, a)
	}
}

// end notes that none do. The caller holds its mu.
func (l *Limited) end(a *allowance) {
	l.turns.Lock()
	defer l.turns.Unlock()
	l.waiting = slices.DeleteFunc(l.waiting, func(other *allowance) bool { return other == a })
}

// Arrived is Issuer.Arrived.
func (l *Limited) Arrived(c *Connection) { l.issuer.Arrived(c) }
