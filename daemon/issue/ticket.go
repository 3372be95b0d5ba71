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
	at       uint32 // the lane of the Group that served it last
	highest  mark   // of its IDs
	regained mark   // of those since its order was lost, if it is

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

// mark is how far a connection's IDs have come.
type mark struct {
	tick   generator.Tick // 0: it has none
	worker int            // whose ID that is
}

// got notes that the connection gets an ID. What lies further below its highest than sleep is of a clock that was set back.
func (t *Ticket) got(lane *generator.Lane, tick, sleep generator.Tick) {
	switch {
	case tick > t.highest.tick:
		t.highest, t.regained = mark{tick, lane.Worker()}, mark{}
	case t.highest.tick-tick > sleep && (tick > t.regained.tick || t.regained.tick-tick > sleep):
		t.regained = mark{tick, lane.Worker()}
	}
}

// order is what the connection's IDs have to be above while the clock shows tick: its highest, or, where the clock is further back than may
// be slept for, the highest of those that it got since.
func (t *Ticket) order(tick, sleep generator.Tick) mark {
	switch {
	case t.highest.tick-tick <= sleep:
		return t.highest
	case t.regained.tick-tick <= sleep:
		return t.regained
	}
	return mark{}
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
