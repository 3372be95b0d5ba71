package simulation

import (
	"fmt"
	"time"

	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// Plan is all that a run is made of: the same plan gives the same run.
type Plan struct {
	Seed          uint64
	Length        scheduler.Time // of the run, in which all faults begin
	Layout        string
	Servers       tree.Kind
	ShowsRestores bool            // the servers' revision shows that they were restored
	Hosts         []int           // by daemon: the host that it runs on
	Bursts        []time.Duration // by daemon: how far back a burst draws; not at all where it says nothing
	FromZero      []bool          // by daemon: its ticks begin at number 0; not where it says nothing
	Apart         []time.Duration // by host: how far its clock is ahead at the beginning
	RestartWait   time.Duration   // how long a fresh lane may wait for its floor, as wanted
	Timing        grant.Timing
	TTL           time.Duration
	Load          time.Duration // between two requests to a daemon, on the average
	Faults        []Fault       // in the order of their time
	Strict        bool          // known time never goes back, and no connection's IDs do
	Trust         bool          // daemons follow whatever their clocks show
	Lead          time.Duration // how far an ID may be ahead of the true time; 0: as far as it likes

	// Recover has the run go on without faults after Length, and judges whether all is well in the
	// end.
	Recover bool

	// What nobody is promised to survive, to see that it is noticed.
	Unfenced bool // the servers store every write of a record
}

// fromZero reports whether a daemon's ticks begin at number 0.
func (p Plan) fromZero(daemon int) bool { return daemon < len(p.FromZero) && p.FromZero[daemon] }

// burst is how far back a daemon's requests draw on what earlier ticks have left, once the clock's
// tick has not enough; 0: not at all.
func (p Plan) burst(daemon int) time.Duration {
	if daemon >= len(p.Bursts) {
		return 0
	}
	return p.Bursts[daemon]
}

// Fault is one thing that goes wrong.
type Fault struct {
	At     scheduler.Time
	Kind   Kind
	Daemon int           // or its host
	For    time.Duration // how long it lasts, or how long the daemon is down then
	By     time.Duration // of a clock
	P      float64       // how likely, for each request
	Where  string        // the kind of step of its daemon at which it happens; empty: at its time
	What   string        // which step, any if empty
	N      int           // at which of those steps, counted from 1
	Cut    time.Duration // how long its host is cut off then
}

// Kind is what goes wrong.
type Kind int

// The kinds of faults; the first ones are of clocks.
const (
	Step       Kind = iota // the wall clock is set by By
	Excursion              // set by By, and back after For
	Oscillate              // set back and forth by By, For long
	FreezeWall             // the wall clock stands still For long, and is behind then
	Drift                  // the wall clock is wrong by P a second, For long, or the monotonic clock alone
	DriftBoth              // both clocks are
	Leap                   // a second is repeated
	Suspend                // the host sleeps For long: its monotonic clock stands still
	Pause                  // the virtual machine sleeps For long: both clocks stand still
	Stopped                // all processes of the host are stopped For long
	lastOfClocks

	Kill        // a process is killed
	Restart     // a process is stopped in order, or another takes over from it
	Outage      // the coordinator does not answer
	Cut         // it does not hear a host, or is not heard, or both
	MessageLoss // requests and replies get lost
	Late        // requests arrive late, also after they were given up
	Twice       // requests take place twice
	Stale       // hints are old, and ZooKeeper's plain reads
	EndSession
	Prolong // sessions last longer
	Clear   // an operator clears a claim
	Raise   // an operator raises all marks
	Restored
	Wiped
	DamagedLayout // the cluster record is, until an operator puts it back
	DamagedRecord // a worker ID's is, until an operator makes another with a late ceiling
	DamagedHint   // a history is, or a host's preference
	Misconfigured // a daemon is stopped in order, and started with a wrong configuration for a while
	Burst         // many requests at once, for N IDs each if that is not 0
	RequestLost   // of the one that is being sent
	RequestLate   // it arrives that much later
	ReplyLost
	Refused

	// What plans draw apart from the kinds before.
	Rebooted // a host is, with all that runs there
	Quiet    // nobody asks a daemon for IDs, For long
)

// drawn is beyond the kinds that each plan draws from.
const drawn = Refused + 1

var kindNames = [...]string{"clock is set", "clock is set and set back", "clock oscillates", "wall clock freezes", "one clock drifts", "both clocks drift",
	"leap second", "host is suspended", "virtual machine is paused", "processes are stopped", "", "killed",
	"stopped in order", "coordinator is away", "cut off", "messages get lost",
	"messages are late", "requests happen twice", "hints and reads are stale", "session ends early", "sessions last longer", "claim is cleared", "marks are raised",
	"coordinator is restored", "coordinator is wiped", "cluster record is damaged", "record is damaged", "history or preference is damaged", "wrong configuration",
	"burst of requests", "request is lost", "request is late", "reply is lost", "request is refused",
	"host boots again", "nobody asks"}

func (k Kind) String() string { return kindNames[k] }

// OfClocks reports whether the kind is of clocks.
func (k Kind) OfClocks() bool { return k < lastOfClocks }

// ofOneRequest reports whether the kind is of the request that is being sent.
func (k Kind) ofOneRequest() bool { return k >= RequestLost && k <= Refused }

// String describes the fault in one line.
func (f Fault) String() string {
	text := fmt.Sprintf("%.6fs d%d: %s", float64(f.At)/1e9, f.Daemon, f.Kind)
	if f.By != 0 {
		text += fmt.Sprintf(" by %v", f.By)
	}
	if f.For != 0 {
		text += fmt.Sprintf(" for %v", f.For)
	}
	if f.P != 0 {
		text += fmt.Sprintf(" p=%.4f", f.P)
	}
	if f.What != "" {
		text += fmt.Sprintf(" (%s)", f.What)
	}
	if f.Where != "" {
		text += fmt.Sprintf(" at %s %d", f.Where, f.N)
	}
	if f.Cut != 0 {
		text += fmt.Sprintf(", then cut off for %v", f.Cut)
	}
	return text
}
