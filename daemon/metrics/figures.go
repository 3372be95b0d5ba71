package metrics

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/generator"
)

// Figures is what a daemon knows of itself at one moment. INFO shows it as well.
type Figures struct {
	Now       clockguard.Reading // known time
	Layout    *generator.Layout
	Cluster   Cluster
	State     string // one word
	Serves    bool   // IDs can be issued
	Holding   grant.Holding
	Condition error // nil: none
	Clock     Clock
	Answers   map[clockguard.Answer]uint64
	Waits     map[string]uint64 // requests that had to wait, by what they waited for first
	Server    serve.Counters
	Limits    Limits
	Timing    Timing

	LogDropped uint64 // lines
}

// Cluster is what the daemon is a member of.
type Cluster struct {
	Coordinator  string // its URL, without secrets
	ID           string // its UUID; empty: none is known yet
	UniqueWithin string // cluster or host
	Datacenter   uint64
	Workers      int // worker IDs that there are
}

// Clock is how known time stands.
type Clock struct {
	Hold         clockguard.Hold // of a clock that is ahead; zero: it is followed
	Synchronised bool            // so says the kernel,
	MaxError     time.Duration   // with this bound on the clock's error
	Steps        clockguard.Steps
	MarksAhead   time.Duration // by how much the highest floor or ceiling is ahead of known time
}

// Limits is what clients may have, and what they have.
type Limits struct {
	Memory        int64 // of the process, in bytes
	Source        string
	Clients       int64 // what may be kept for clients, in bytes,
	ClientsUsed   int64 // and what is
	Connections   int
	Rate          issue.Rate    // of each user
	Users         []issue.Usage // where they have a rate, a bounded number,
	UsersRestTook uint64        // and the IDs of the others
}

// Timing is what alerts compare with.
type Timing struct {
	Window   time.Duration // the cluster's
	MaxBlock time.Duration // --max-block
}
