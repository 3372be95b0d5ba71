package clockguard

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// MaxForward is how far the wall clock may run ahead of the monotonic one before somebody has to
// confirm it, counted from the last time that was confirmed.
const MaxForward = time.Second

// The defaults of a Belief.
const (
	DefaultForwardHold = time.Minute
	DefaultMaxSkew     = 10 * time.Second
)

// Belief is how far a wall clock that runs ahead is believed. Check reports values out of range.
type Belief struct {
	// ForwardHold is how long a step ahead of more than MaxForward is held if nobody can tell: 0 to
	// 24 h.
	ForwardHold time.Duration
	// MaxSkew is how far the clocks of a cluster may lie apart: a start whose clock is ahead of the
	// coordinator's servers by more is not ready: 100 ms to 1 h.
	MaxSkew time.Duration
	// Trust believes every step at once.
	Trust bool
}

// DefaultBelief is what a daemon believes unless it is told otherwise.
func DefaultBelief() Belief {
	return Belief{ForwardHold: DefaultForwardHold, MaxSkew: DefaultMaxSkew}
}

// The ranges of a Belief. leastSkew is above the 8 ms by which the two clocks of one reading were
// seen to differ under load.
const (
	leastSkew = 100 * time.Millisecond
	mostSkew  = time.Hour
	mostHold  = 24 * time.Hour
)

// Check calls bad for each value that is out of its range, with the name of its flag.
func (b Belief) Check(bad func(flag, format string, args ...any)) {
	within := func(flag string, d, least, most time.Duration) {
		if d < least || d > most {
			bad(flag, "%v is not within %v and %v", d, least, most)
		}
	}
	within("forward-hold", b.ForwardHold, 0, mostHold)
	within("max-skew", b.MaxSkew, leastSkew, mostSkew)
}

// ServerTime is what another machine's clock showed when it was asked.
type ServerTime struct {
	Wall  int64         // nanoseconds since 1970-01-01T00:00:00Z, at the moment of the Reading that it is compared with
	Error time.Duration // by how much Wall may be wrong: the clock's resolution, and how long the answer took
}

// Evidence is what witnesses and the kernel say when a wall clock is ahead.
type Evidence struct {
	Wall  int64         // what the wall clock shows; nanoseconds since 1970
	Ahead time.Duration // by how much that is ahead of known time; Start ignores it
	Held  time.Duration // for how long it has been held, by the monotonic clock

	Asked   int          // servers on other machines that could be asked
	Servers []ServerTime // those that answered

	Members []int64 // the latest time that each other live member has published; nanoseconds since 1970

	Reported     bool          // the kernel reported the step itself
	Synchronised bool          // the kernel calls its clock synchronised,
	MaxError     time.Duration // and says that it is wrong by no more than this

	// Stranded is set if the new time is beyond what was granted, and the coordinator does not answer.
	Stranded bool
}

// Verdict is what is done about a wall clock that is ahead.
type Verdict uint8

// The verdicts.
const (
	Held     Verdict = iota // known time goes on by the monotonic clock
	Followed                // known time goes on by the wall clock
	NotReady                // a start must not claim anything
)

var verdicts = [...]string{Held: "held", Followed: "followed", NotReady: "not-ready"}

// String returns the verdict's name in lower case.
func (v Verdict) String() string {
	if int(v) < len(verdicts) {
		return verdicts[v]
	}
	return "verdict " + strconv.Itoa(int(v))
}

// Conclusion is a verdict, why it was reached, and for how long it may hold.
type Conclusion struct {
	Verdict Verdict
	Why     error
	For     time.Duration // a hold ends by itself after this, at the most; 0: only by new evidence
	Said    string        // what the witnesses said, for people; empty: nobody was asked
}

// Why a clock that is ahead is believed, or is not.
var (
	ErrTrusted     = errors.New("--trust-clock says so")
	ErrServers     = errors.New("most of the coordinator's servers agree with the clock")
	ErrMembers     = errors.New("most of the other daemons have come as far")
	ErrContradict  = errors.New("half or more of the coordinator's servers disagree with the clock")
	ErrKernel      = errors.New("the kernel reported the step, and calls its clock synchronised")
	ErrNobody      = errors.New("nobody can tell whether the clock is right")
	ErrStranded    = errors.New("nobody can tell whether the clock is right, and the coordinator cannot grant what lies beyond the grant")
	ErrHeldLong    = errors.New("nobody could tell, and the clock has stayed ahead for --forward-hold")
	ErrUnwitnessed = errors.New("there is no other member, and at most one server to compare with")
)

// Step decides about a wall clock that is ahead of known time by more than may be believed.
//
//	--trust-clock                                        followed
//	more than half of the servers that can be asked, or
//	of the members, agree with the new time              followed
//	half or more of the servers that tell disagree       held as long as they do
//	nobody tells; the kernel made the step, synchronised followed
//	nobody tells; beyond the grant, coordinator away     held
//	nobody tells                                         held for ForwardHold, then followed
//
// A server agrees if its time is the new one within MaxSkew, or half the step if that is less. It
// disagrees if its time is further off. Where its error leaves that open, it does not tell. A member
// agrees if it has come to within 2*MaxSkew of the new time, or half the step if that is less. Members
// never disagree: what they published is old. Step is pure.
func (b Belief) Step(e Evidence) Conclusion {
	if b.Trust {
		return Conclusion{Verdict: Followed, Why: ErrTrusted}
	}
	agree, disagree := e.votes(min(b.MaxSkew, e.Ahead/2))
	switch {
	case 2*agree > e.Asked && e.Asked > 0:
		return Conclusion{Verdict: Followed, Why: ErrServers}
	case e.confirmed(min(2*b.MaxSkew, e.Ahead/2)):
		return Conclusion{Verdict: Followed, Why: ErrMembers}
	case disagree > 0 && 2*disagree >= agree+disagree:
		return Conclusion{Verdict: Held, Why: ErrContradict}
	case e.Reported && e.Synchronised && e.MaxError < e.Ahead:
		return Conclusion{Verdict: Followed, Why: ErrKernel}
	case e.Stranded:
		return Conclusion{Verdict: Held, Why: ErrStranded}
	case e.Held >= b.ForwardHold:
		return Conclusion{Verdict: Followed, Why: ErrHeldLong}
	default:
		return Conclusion{Verdict: Held, Why: ErrNobody, For: b.ForwardHold - e.Held}
	}
}

// Start decides about the wall clock of a start that knows of no earlier time.
//
//	--trust-clock                                        followed
//	not ahead of most of the servers by over MaxSkew     followed
//	most of the members have come as far                 followed
//	one server, and no other member                      followed, with a warning: ErrUnwitnessed
//	otherwise                                            not ready
//
// Servers that do not answer do not tell. If none answers, the clock is followed: ErrNobody. Start
// is pure.
func (b Belief) Start(e Evidence) Conclusion {
	if b.Trust {
		return Conclusion{Verdict: Followed, Why: ErrTrusted}
	}
	ahead := 0
	for _, s := range e.Servers {
		if time.Duration(since(e.Wall, s.Wall)) > b.MaxSkew+s.Error {
			ahead++
		}
	}
	switch {
	case len(e.Servers) == 0:
		return Conclusion{Verdict: Followed, Why: ErrNobody}
	case 2*ahead <= len(e.Servers):
		return Conclusion{Verdict: Followed, Why: ErrServers}
	case e.confirmed(2 * b.MaxSkew):
		return Conclusion{Verdict: Followed, Why: ErrMembers}
	case e.Asked <= 1 && len(e.Members) == 0:
		return Conclusion{Verdict: Followed, Why: ErrUnwitnessed}
	default:
		return Conclusion{Verdict: NotReady, Why: ErrContradict}
	}
}

// Said counts the witnesses of a step that agree, disagree and do not tell, as text.
func (b Belief) Said(e Evidence) string {
	agree, disagree := e.votes(min(b.MaxSkew, e.Ahead/2))
	said := fmt.Sprintf("servers: %d agree, %d disagree, %d do not tell; members: %d of %d have come as far",
		agree, disagree, e.Asked-agree-disagree, e.asFar(min(2*b.MaxSkew, e.Ahead/2)), len(e.Members))
	if e.Reported {
		said += "; the kernel reported a step"
	}
	return said
}

// votes counts the servers whose time is the wall clock's within bound, and those whose time is not.
func (e Evidence) votes(bound time.Duration) (agree, disagree int) {
	for _, s := range e.Servers {
		switch apart := distance(e.Wall, s.Wall); {
		case apart <= bound-s.Error:
			agree++
		case apart > bound+s.Error:
			disagree++
		}
	}
	return agree, disagree
}

// confirmed reports whether more than half of the other live members have come as far.
func (e Evidence) confirmed(short time.Duration) bool { return 2*e.asFar(short) > len(e.Members) }

// asFar counts the other live members that had come to within short of the wall clock's time when
// they published last.
func (e Evidence) asFar(short time.Duration) (far int) {
	for _, m := range e.Members {
		if time.Duration(since(e.Wall, m)) <= short {
			far++
		}
	}
	return far
}

// Lead is by how much the wall clock is ahead of most of the servers that answered: of their median,
// the later of two. 0 if none answered.
func (e Evidence) Lead() time.Duration {
	if len(e.Servers) == 0 {
		return 0
	}
	leads := make([]time.Duration, len(e.Servers))
	for i, s := range e.Servers {
		leads[i] = time.Duration(since(e.Wall, s.Wall))
	}
	slices.Sort(leads)
	return leads[(len(leads)-1)/2]
}

// distance returns how far a and b lie apart, saturating.
func distance(a, b int64) time.Duration { return time.Duration(max(since(a, b), since(b, a))) }
