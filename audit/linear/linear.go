// Package linear says what the calls on a coordinator must look like from outside, and
// checks recorded ones: each worker ID must behave as if every call on it had happened
// in one moment between its beginning and its end (linearizability; Herlihy and Wing,
// 1990; the search is porcupine's).
//
// What one worker ID does, one call after the other:
//
//   - An opening happens only while nobody holds the worker ID: the claim that held it was
//     released, its node was deleted, or its session ended. Its floor is the record's ceiling, or the
//     cluster's floor if that is more.
//   - An Extend is acknowledged only to the record's holder, whether or not its claim is there.
//     Ceiling and issued tick only rise by it.
//   - A Release is acknowledged under the same conditions. It leaves the larger of the last
//     tick, what was published as issued and the floor of its own grants, and nobody holds
//     the worker ID then. Made again after an unknown outcome, it answers as the first would have.
//   - ErrLost has a reason: another's opening, the end of the claim or of its session, or a
//     Release. It is final. A Release that answers it may have been stored, by
//     a try whose reply was lost, but then another has opened the record since. So may an Extend,
//     whose claim's node was not there.
//   - What is read of a record was its content in one moment.
//
// A call of unknown outcome may take place after it has returned, or never. But each
// write compares the record's version, so none takes place after a later write was acknowledged.
// Raises of the floor are not among the operations: nobody notes when they take place.
//
// Nothing here waits for a session's end that nobody made: a session whose timeout is
// short enough to end by itself is marked as mortal, and then the claims in it may be
// gone at any time, but are not back after that.
package linear

import (
	"fmt"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Kind is what an operation does.
type Kind uint8

// The kinds of operations.
const (
	// Open is the opening of a record, by Coordinator.Claim.
	Open Kind = iota
	// Extend is Claim.Extend.
	Extend
	// Release is Claim.Release.
	Release
	// End deletes a claim's node, by the end of its session.
	End
	// Read is what was found stored of a record.
	Read
)

// Outcome is how an operation ended.
type Outcome uint8

// The outcomes.
const (
	// Done has taken place.
	Done Outcome = iota
	// Lost is coord.ErrLost.
	Lost
	// Unknown may have taken place, or may do so later, or never.
	Unknown
)

// Op is one operation of a history. Call and Return are in nanoseconds by one
// monotonic clock; what was done lies between them, both included.
type Op struct {
	Client       int // who did it, from 0, for people to read
	Call, Return int64
	// By is when an operation of unknown outcome has taken place at the latest, if it ever does; 0
	// if nothing but the rest of the history tells. Return is then only when its caller gave up.
	By int64

	Kind    Kind
	Outcome Outcome
	Worker  int
	// Opening is the ID of the opening that is made, or whose claim it is. An opening
	// of unknown outcome has one that begins with Unseen and is one of a kind.
	Opening string

	// Of Open: what the claim says. Of one of unknown outcome, Floor means nothing.
	Floor  generator.Tick
	Mortal bool // its session may end by itself

	Progress coord.Progress  // of Extend
	To       generator.Tick  // of Release: the last tick
	Found    history.Version // of Read; the zero value: there is no record
}

// Unseen begins the ID of an opening that nobody has been told of.
const Unseen = "?"

// String describes the operation in a line.
func (o Op) String() string {
	short := func(id string) string { return id[:min(len(id), 6)] }
	outcome := map[Outcome]string{Done: "done", Lost: "lost", Unknown: "unknown"}[o.Outcome]
	switch o.Kind {
	case Open:
		s := fmt.Sprintf("open %d as %s: %s", o.Worker, short(o.Opening), outcome)
		if o.Outcome == Done {
			s += fmt.Sprintf(" above %d", o.Floor)
		}
		return s
	case Extend:
		return fmt.Sprintf("extend %d by %s to %d issued %d: %s", o.Worker, short(o.Opening), o.Progress.Ceiling, o.Progress.Issued, outcome)
	case Release:
		return fmt.Sprintf("release %d by %s at %d: %s", o.Worker, short(o.Opening), o.To, outcome)
	case End:
		return fmt.Sprintf("end the claim of %s on %d: %s", short(o.Opening), o.Worker, outcome)
	default:
		return fmt.Sprintf("read %d: ceiling %d issued %d holder %s",
			o.Worker, o.Found.Ceiling, o.Found.Issued, short(o.Found.Holder))
	}
}
