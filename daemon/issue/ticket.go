package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// Ticket is the patience of a connection's present request, and what its order needs to be known of the IDs it got before. Its zero
// value is a connection that has got none. It must not be shared between connections, nor used by two goroutines at once.
type Ticket struct {
	// Home tells the connections apart: a Group spreads them over its lanes by this number. It stays as it is as long as the
	// connection does.
	Home uint32

	// Of the connection.
	at     uint32         // the lane of the Group that served it last
	worker int            // whose ID its highest is
	last   generator.Tick // the highest tick of its IDs; 0: it has none

	// Of the request.
	since    generator.Tick  // the tick it waits for: it may draw on each tick from here to now
	deadline clockguard.Mono // when it gives up; 0 until it first waits
}

// Follow readies the ticket for the connection's next request, if that had arrived by the time the last one was answered: it has
// waited through the same ticks and may draw on them.
func (t *Ticket) Follow() { t.deadline = 0 }

// Renew readies the ticket for a request of the connection that arrives later.
func (t *Ticket) Renew() { t.since, t.deadline = 0, 0 }

// Lane is the number, in its Group, of the lane that served the connection last; 0 if none has.
func (t *Ticket) Lane() int { return int(t.at) }

// got notes whose ID the connection gets, if it is the highest.
func (t *Ticket) got(lane *generator.Lane, tick generator.Tick) {
	if tick > t.last {
		t.worker, t.last = lane.Worker(), tick
	}
}

// Wait says what a request that got no number can do.
type Wait struct {
	For   time.Duration // try again after this long, if above 0
	Event bool          // or at the next change, whichever is first
	Err   error         // give up: an *UnavailableError
}

// answer is what an issuer says to a request: the number, refused, or how it may go on.
type answer struct {
	wait  Wait
	why   error // what keeps it waiting; nil: it is served or refused
	now   clockguard.Reading
	stuck bool // no matter of a tick or a short sleep: another lane may serve it meanwhile
}
