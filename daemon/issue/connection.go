package issue

import "github.com/flakeward/flakeward/generator"

// Connection is what issuing has to know of a connection: its order, and how its present request
// stands. The zero value is a connection that has got no ID. It must not be shared between
// connections, nor used by two goroutines at once.
type Connection struct {
	// Number tells connections apart. A Pool chooses a connection's preferred lane by it. It must
	// not change.
	Number uint32

	lane  uint32 // the lane of the pool that served it last
	order order

	// Of the present request.
	awaited  generator.Tick // it may draw on the ticks from here to the clock's; 0: on none
	deadline deadline
}

// Begin begins a request that arrives now.
func (c *Connection) Begin() { c.awaited, c.deadline = 0, 0 }

// BeginQueued begins a request that had arrived by the time the last one was answered. It has
// waited through the same ticks and may draw on them.
func (c *Connection) BeginQueued() { c.deadline = 0 }

// Lane is the number, in its Pool, of the lane that served the connection last; 0 if none has.
func (c *Connection) Lane() int { return int(c.lane) }
