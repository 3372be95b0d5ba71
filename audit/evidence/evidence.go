// Package evidence is what a drill leaves behind to be judged: what each daemon did, written by the
// daemon itself in a drill build, and what each client saw. Both are logs that are only appended
// to, so a process that is killed leaves all that it had written.
package evidence

import "github.com/flakeward/flakeward/generator"

// Mono is an instant: nanoseconds of the machine's CLOCK_MONOTONIC, which nobody
// can set, and which all containers of one machine share.
type Mono int64

// Run is IDs that follow each other: First, First+Step, and so on, N of them. Step
// and N are at least 1.
type Run struct {
	First, Step int64
	N           int
}

// Last is the run's last ID.
func (r Run) Last() int64 { return r.First + r.Step*int64(r.N-1) }

// Kind is what an Event is of.
type Kind uint8

// The kinds of events.
const (
	// Began is a daemon's start: Host, Incarnation, Layout.
	Began Kind = 1 + iota
	// Issued is IDs that left a lane, written before anything of them is sent: Run.
	Issued
	// Claimed is a claim that the coordinator gave: Call, Worker, Opening, Floor.
	// It is written before the daemon sees the claim.
	Claimed
	// Extended is a ceiling that the coordinator acknowledged: Call, Worker, Opening, Ceiling. It
	// is written before the daemon is told.
	Extended
	// Releasing is a lane given back: Call, Worker, Opening, Last. It is written before
	// the coordinator is asked to lower the record, when the lane has been closed.
	Releasing
	// Released is what the coordinator answered to that with success: Call, Worker, Opening, Last.
	Released
	// Claiming is written before the opening of a record is sent: Call, Worker.
	Claiming
	// Extending is written before an extension is sent: Call, Worker, Opening, Ceiling, Issued.
	Extending
	// Failed is the end of a call without success: Call, Worker, Opening as the call began, Ending.
	// A call whose end is not written may have been done as well.
	Failed
)

// Ending is how a call on the coordinator ended without success.
type Ending uint8

// The endings.
const (
	// Unclear: it may have been done, or may be yet.
	Unclear Ending = iota
	// Denied: what was to be written is another's: coord.ErrLost, or an opening that others were
	// faster than.
	Denied
)

// Event is one entry of a daemon's log. Fields that its Kind does not name are zero.
type Event struct {
	At   Mono
	Kind Kind

	Host, Incarnation, Layout string

	Run Run

	Call    uint64 // the call on the coordinator, among those of the log, from 1
	Worker  int
	Opening string
	Floor   generator.Tick
	Ceiling generator.Tick
	Issued  generator.Tick // that is published as issued
	Last    generator.Tick // of the lane that was closed; 0: it has issued nothing
	Ending  Ending
}

// Asking is how a client asked.
type Asking uint8

// The ways of asking.
const (
	// Single is NEXT, one at a time.
	Single Asking = 1 + iota
	// Pipelined is NEXT, several at once. Asked is then when the first of them was
	// sent, Answered when this one's reply was read.
	Pipelined
	// Batch is NEXT with a count.
	Batch
	// InRuns is RUN with a count.
	InRuns
)

// Outcome is what became of a request.
type Outcome uint8

// The outcomes.
const (
	// Got: the whole reply was read.
	Got Outcome = 1 + iota
	// Refused: the daemon answered with an error, which is in Text.
	Refused
	// Lost: it was sent, or part of it was, and the connection ended before a whole reply was read.
	Lost
	// Unsent: nobody listened on the socket, or the connection had ended before any
	// of the request could be written: no daemon has seen it.
	Unsent
)

// Reply is one entry of a client's log: one request and what became of it.
type Reply struct {
	Connection uint32 // a new one for each connection that was made; within one, entries are in the order of their replies
	Asking     Asking
	Asked      Mono
	Answered   Mono // when the reply was read, or it was known that there will be none
	Outcome    Outcome
	IDs        []Run // in the order in which they were received
	Text       string
}
