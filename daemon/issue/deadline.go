package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// deadline is when a request gives up; 0 until it first waits.
type deadline clockguard.Mono

// left returns the time until the deadline, which is timeout after the first call.
func (d *deadline) left(now clockguard.Mono, timeout time.Duration) time.Duration {
	if *d == 0 {
		*d = deadline(now + clockguard.Mono(timeout))
	}
	return time.Duration(clockguard.Mono(*d) - now)
}

// bound cuts an outcome's wait short at the request's deadline. A request past it is refused.
func (i *Issuer) bound(c *Connection, o outcome) Wait {
	if o.reason == nil {
		if o.wait.Err != nil {
			c.leave()
		}
		return o.wait
	}
	if c.deadline == 0 {
		i.waits[waitFor(o.reason)].Add(1)
	}
	left := c.deadline.left(o.sampled, i.limits.MaxBlock)
	if left <= 0 {
		c.leave()
		refused := &UnavailableError{
			Reason: o.reason, Condition: i.owner.Condition(), For: max(0, o.wait.For), After: i.limits.MaxBlock,
		}
		if lane := i.Lane(); o.reason == ErrClock && lane != nil {
			refused.Last = i.layout.StartOf(lane.Highest())
		}
		return Wait{Err: refused}
	}
	if c.line != nil && o.reason == ErrExhausted {
		o.wait.InTurn = left
	}
	if o.wait.For <= 0 || o.wait.For > left {
		o.wait.For = left
	}
	return o.wait
}
