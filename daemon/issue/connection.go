package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

// Connection is what issuing has to know of a connection: its order, and how its present request
// stands. The zero value is a connection that has got no ID. It must not be shared between
// connections, nor used by two goroutines at once.
type Connection struct {
	// User is whose it is. The users whose requests wait have equal shares.
	User queue.User
	// Singles says that the present request is a row of requests for one ID each. It is set before
	// the request's first Take.
	Singles bool
	// Owner is whose connection it is: whoever calls Deal finds it again.
	Owner any

	sampled clockguard.Mono // when the clock was read for it last
	order   Order

	// Of the present request.
	awaited  generator.Tick // it may draw on the ticks from here to the clock's; 0: on none
	arrived  generator.Tick // when the last of those behind it came; 0: with it
	deadline deadline
	admitted bool  // it was promised what it asks for
	small    bool  // the reserve is for it, too
	line     *line // in which it waits; nil: in none
	place    queue.Line
	request  queue.Request

	// Of the last request that was refused for its count: what it was told, and when more can be
	// had.
	told  *TooManyError // nil: there was none
	again clockguard.Mono
	pause time.Duration // the last one before the same refusal

	user ration // of its user's rate
}

// Begin begins a request that arrives now.
func (c *Connection) Begin() {
	c.awaited, c.arrived = 0, 0
	c.BeginQueued()
}

// BeginQueued begins a request that had arrived by the time the last one was answered. It has
// waited through the same ticks since it came, and may draw on them.
func (c *Connection) BeginQueued() {
	if c.awaited != 0 {
		c.awaited = max(c.awaited, c.arrived)
	}
	if c.line != nil || c.user.admitted { // a request that never waited calls nothing
		c.End()
	}
	c.deadline, c.admitted = 0, false
}

const (
	firstPause   = time.Millisecond
	longestPause = 100 * time.Millisecond
)

// refused notes what a request was told that is refused for its count. Where more can never be had,
// who asks again and again waits longer each time.
func (c *Connection) refused(now clockguard.Mono, told *TooManyError) {
	after := told.After
	if after == 0 {
		c.pause = min(max(firstPause, 2*c.pause), longestPause)
		after = c.pause
	}
	c.told, c.again = told, now+clockguard.Mono(after)
}

// early returns how long a request for n comes before the time that a refusal told; 0 if it does
// not.
func (c *Connection) early(now clockguard.Mono, n int) time.Duration {
	if c.told == nil || n <= c.told.Largest || now >= c.again {
		return 0
	}
	return c.again.Sub(now)
}

// End gives up the present request: its client is gone.
func (c *Connection) End() {
	c.leave()
	c.user.end()
}

// Waits reports whether the present request waits in turn for numbers.
func (c *Connection) Waits() bool {
	return c.line != nil || c.user.request.Waits()
}

// Sampled is when the clock was read for its present request last: at its last Take. 0 if it was
// not.
func (c *Connection) Sampled() clockguard.Mono { return c.sampled }
