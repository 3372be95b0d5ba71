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
		return o.wait
	}
	left := c.deadline.left(o.sampled, i.limits.MaxBlock)
	if left <= 0 {
		return Wait{Err: &UnavailableError{
			Reason: o.reason, Condition: i.owner.Condition(), For: max(0, o.wait.For), After: i.limits.MaxBlock,
		}}
	}
	if o.wait.For <= 0 || o.wait.For > left {
		o.wait.For = left
	}
	return o.wait
}
