package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/generator"
)

// Wait says what a request that got no number can do.
type Wait struct {
	For   time.Duration // try again after this long, if above 0
	Event bool          // or at the next change, whichever is first
	Err   error         // give up: an *UnavailableError
	// InTurn is above 0 for a request that waits in turn: where Deal is called, nothing need be
	// tried before that names the request, or InTurn is over.
	InTurn time.Duration
}

// outcome is how one attempt to serve a request ends.
type outcome struct {
	run     generator.Run   // the numbers; with any of them all else is zero
	wait    Wait            // how a request without numbers goes on, or its refusal
	reason  error           // what the request waits for; nil: it is served or refused
	sampled clockguard.Mono // when the clock was read; zero if the request is served or refused
}

func refused(reason error) outcome {
	return outcome{wait: Wait{Err: &UnavailableError{Reason: reason}}}
}

// sample is the lane and the clock as one attempt finds them. It fits into registers: with one more
// field each request would take 20 ns longer.
type sample struct {
	lane    *generator.Lane // nil: there is none
	highest generator.Tick  // of the lane
	now     clockguard.Reading
}

func (i *Issuer) sample() sample {
	lane := i.lane.Load()
	if lane == nil {
		return sample{now: i.clock.Now()}
	}
	// The highest tick is loaded before the clock is read: a clock read later than another thread's
	// issue cannot show an earlier tick unless the clock really went back.
	highest := lane.Highest()
	return sample{lane, highest, i.clock.Now()}
}

// tick is the one that the clock showed.
func (i *Issuer) tick(s sample) generator.Tick { return i.layout.TickAt(s.now.Wall) }

// waits is the outcome of a request that is served after a tick or a short sleep.
func (s sample) waits(d time.Duration, reason error) outcome {
	return outcome{wait: Wait{For: d}, reason: reason, sampled: s.now.Mono}
}

// unavailable is the outcome of a request that is not served before a change, or, where
// it is known, before d is over.
func (s sample) unavailable(d time.Duration, reason error) outcome {
	return outcome{wait: Wait{For: d, Event: true}, reason: reason, sampled: s.now.Mono}
}
