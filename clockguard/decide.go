package clockguard

import (
	"fmt"
	"strconv"
	"time"
)

// Limits is what the guard may do. NewLimits checks them.
type Limits struct {
	MaxSleep time.Duration // the longest sleep that nobody notices
	Span     time.Duration // how far back the lane's ring remembers its slots
}

// NewLimits returns limits that fit a layout whose tick lasts tick. It refuses a maxSleep shorter
// than a tick, with which a clock one tick behind could not be waited for, and a span shorter than
// two ticks, in which no slot is left once the current one is used up.
func NewLimits(maxSleep, span, tick time.Duration) (Limits, error) {
	if tick <= 0 {
		return Limits{}, fmt.Errorf("clock guard: a tick of %v is no length of time: give the layout's tick", tick)
	}
	if maxSleep < tick {
		return Limits{}, fmt.Errorf("clock guard: the longest sleep (%v) is shorter than a tick: make it at least %v", maxSleep, tick)
	}
	if span/2 < tick { // 2*tick could overflow
		return Limits{}, fmt.Errorf("clock guard: the ring spans %v: make it at least two ticks of %v", span, tick)
	}
	return Limits{MaxSleep: maxSleep, Span: span}, nil
}

// Situation is where a lane stands when it is asked for IDs.
type Situation struct {
	// Lag is the wall time until the clock reaches the next tick that the
	// lane may issue in order. 0 or less: there is none.
	Lag time.Duration

	// RoomIn is the wall time until the first tick, at or after the clock's
	// own, whose slot has unused numbers inside the grant. 0: the clock's own
	// tick has them. Negative: no such tick comes before the lag is over.
	RoomIn time.Duration

	// Unordered: the ring has been used since the clock went back, so order is
	// lost already and a sleep for its sake would gain nothing.
	Unordered bool

	// Reachable: a coordinator is there to lend another worker ID.
	Reachable bool

	// AnyRoom: some slot of the ring, at whatever tick it holds, has unused
	// numbers that floor and ceiling allow.
	AnyRoom bool
}

// Answer is what a lane does next.
type Answer uint8

// The answers, from the one that costs nothing to the one that costs most.
const (
	Issue    Answer = iota // at the clock's tick, in order
	Sleep                  // for Decision.For, then ask again
	Ring                   // issue unused numbers of the clock's own tick; IDs go down by at most the span
	ReLease                // take another worker ID, whose mark is long past
	Backfill               // issue unused numbers of whichever slots have them, each at its own tick
	Wait                   // nothing is left to issue until Decision.For has passed on the wall clock
)

var answers = [...]string{Issue: "issue", Sleep: "sleep", Ring: "ring", ReLease: "re-lease", Backfill: "backfill", Wait: "wait"}

// String returns the answer's name in lower case.
func (a Answer) String() string {
	if int(a) < len(answers) {
		return answers[a]
	}
	return "answer " + strconv.Itoa(int(a))
}

// Decision is an answer and, where it is Sleep or Wait, for how long.
type Decision struct {
	Answer Answer
	For    time.Duration // more than 0 with Sleep and Wait, otherwise 0
}

// Decide answers the guard's one question: the clock is s.Lag behind what the
// lane may issue; what now?
//
//	lag <= 0                                 Issue
//	lag <= MaxSleep                          Sleep for the lag, to keep the order; where it
//	                                         is lost, Ring if there is room
//	lag <= Span, room at the clock's tick    Ring
//	lag <= Span, room within MaxSleep        Sleep until there is room
//	more, or no room; a coordinator          ReLease
//	the same, and none; room in some slot    Backfill
//	nothing left                             Wait for the lag
//
// A tick that is used up is no reason to burn a worker ID, hence the fourth line. Decide is pure:
// it reads no clock, takes no lock and keeps no state, and it never lets anyone sleep longer than
// MaxSleep. Wait is not a sleep: the caller may do other work, refuse the request or ask again, and
// should ask again whenever the clock steps or a coordinator answers.
func Decide(l Limits, s Situation) Decision {
	switch {
	case s.Lag <= 0:
		return Decision{Answer: Issue}
	case s.Lag <= l.MaxSleep && !(s.Unordered && s.RoomIn == 0 && s.Lag <= l.Span):
		return Decision{Answer: Sleep, For: s.Lag}
	case s.Lag <= l.Span && s.RoomIn == 0:
		return Decision{Answer: Ring}
	case s.Lag <= l.Span && 0 < s.RoomIn && s.RoomIn <= l.MaxSleep:
		return Decision{Answer: Sleep, For: s.RoomIn}
	case s.Reachable:
		return Decision{Answer: ReLease}
	case s.AnyRoom:
		return Decision{Answer: Backfill}
	default:
		return Decision{Answer: Wait, For: s.Lag}
	}
}
