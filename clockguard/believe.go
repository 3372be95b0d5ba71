package clockguard

import (
	"errors"
	"slices"
	"time"
)

// MaxForward is how far the wall clock may run ahead of the monotonic one before that has to be
// confirmed, counted from the last time that was confirmed.
const MaxForward = time.Second

// DefaultForwardHold is the default of Belief.ForwardHold.
const DefaultForwardHold = time.Minute

// Belief is how far a wall clock that runs ahead is believed. Check reports values out of range.
type Belief struct {
	// ForwardHold is how long a step ahead of more than MaxForward is held if there is no other
	// member, and the kernel does not call its clock synchronised: 0 to 24 h.
	ForwardHold time.Duration
	// Trust believes every step at once.
	Trust bool
	// Strict: known time never goes back. Where the wall clock does, known time goes on at half the
	// monotonic clock's pace until the wall clock has caught up.
	Strict bool
	// End is the first time that no ID can be of, in nanoseconds since 1970; 0: there is none.
	End int64
}

// DefaultBelief is what a daemon believes unless it is told otherwise.
func DefaultBelief() Belief { return Belief{ForwardHold: DefaultForwardHold} }

const mostHold = 24 * time.Hour

// Check calls bad for each value that is out of its range, with the name of its flag.
func (b Belief) Check(bad func(flag, format string, args ...any)) {
	if b.ForwardHold < 0 || b.ForwardHold > mostHold {
		bad("forward-hold", "%v is not within 0s and %v", b.ForwardHold, mostHold)
	}
}

// Evidence is what is known when a wall clock is ahead of known time, or at a start that knows of
// no earlier time.
type Evidence struct {
	Wall  int64         // what the wall clock shows; nanoseconds since 1970
	Start bool          // there is no known time yet
	Held  time.Duration // for how long the clock has been held, by the monotonic clock

	Window time.Duration // the cluster's
	// Members has the latest time that each other live member on another host is known to have come
	// to, by what it published; nanoseconds since 1970, 0: none.
	Members  []int64
	Unlisted bool // it is not known which other live members there are
	// Trusted is the time that a person has confirmed last; nanoseconds since 1970, 0: nobody has.
	Trusted int64

	Synchronised bool // the kernel calls its clock synchronised
}

// Newest is the latest time before the wall clock's that a member is known to have come to; 0:
// there is none.
func (e Evidence) Newest() (newest int64) {
	for _, m := range e.Members {
		if m < e.Wall {
			newest = max(newest, m)
		}
	}
	return newest
}

// near reports whether a member has come within a window of the wall clock's time.
func (e Evidence) near() bool {
	return slices.ContainsFunc(e.Members, e.nearTo)
}

// nearTo reports whether a time that is known is within a window of the wall clock's.
func (e Evidence) nearTo(at int64) bool { return at > 0 && distance(e.Wall, at) <= e.Window }

// Conclusion is what is done about a wall clock that is ahead.
type Conclusion struct {
	// Followed: known time goes on by the wall clock. Otherwise it is held: known time goes on by
	// the monotonic clock, at a start from Evidence.Newest.
	Followed bool
	Why      error
	For      time.Duration // a hold ends by itself after this, at the most; 0: only by new evidence
}

// Why a clock that is ahead is believed, or is not.
var (
	ErrTrusted   = errors.New("--trust-clock says so")
	ErrUnlisted  = errors.New("the coordinator does not say what time the other members have come to")
	ErrMembers   = errors.New("another member has come within a window of the clock")
	ErrAheadOf   = errors.New("no other member has come within a window of the clock")
	ErrNobody    = errors.New("there is no other member, and the kernel does not call the clock synchronised")
	ErrNoEarlier = errors.New("no earlier time is known")
	ErrKernel    = errors.New("there is no other member, and the kernel calls the clock synchronised")
	ErrHeldLong  = errors.New("there is no other member, and the clock has stayed ahead for --forward-hold")
)

// Decide decides about a wall clock that is ahead of known time by more than may be believed, and
// about that of a start that knows of no earlier time. Decide is pure.
//
//	--trust-clock                                     followed
//	a person has said a time within a window of it    followed
//	the members are not known                         held
//	another member has come within a window of it     followed
//	a start, and it is ahead of no other member       followed
//	there are other members                           held, until one has
//	the kernel calls its clock synchronised           followed
//	otherwise                                         held for ForwardHold, then followed
func (b Belief) Decide(e Evidence) Conclusion {
	switch {
	case b.Trust, e.nearTo(e.Trusted):
		return Conclusion{Followed: true, Why: ErrTrusted}
	case e.Unlisted:
		return Conclusion{Why: ErrUnlisted}
	case e.near():
		return Conclusion{Followed: true, Why: ErrMembers}
	case e.Start && e.Newest() == 0:
		return Conclusion{Followed: true, Why: ErrNoEarlier}
	case len(e.Members) > 0:
		return Conclusion{Why: ErrAheadOf}
	case e.Synchronised:
		return Conclusion{Followed: true, Why: ErrKernel}
	case e.Held >= b.ForwardHold:
		return Conclusion{Followed: true, Why: ErrHeldLong}
	default:
		return Conclusion{Why: ErrNobody, For: b.ForwardHold - e.Held}
	}
}

// distance returns how far a and b lie apart, saturating.
func distance(a, b int64) time.Duration { return time.Duration(max(since(a, b), since(b, a))) }
