package fault

// Step is a moment of a takeover at which a drill can stop a process.
type Step string

// The steps of a newcomer, in their order.
const (
	NewcomerAccepted  Step = "newcomer/accepted"  // the running daemon would let it, nothing is joined
	NewcomerRehearsed Step = "newcomer/rehearsed" // it fits, and READY is not sent
	NewcomerReady     Step = "newcomer/ready"     // READY is sent
	NewcomerReceived  Step = "newcomer/received"  // it has the connections, and has said so
	NewcomerCommitted Step = "newcomer/committed" // it has COMMIT
	NewcomerStarted   Step = "newcomer/started"   // nobody is served
	NewcomerServes    Step = "newcomer/serves"    // it serves
)

// The steps of a running daemon that is taken over, in their order.
const (
	RunningAsked     Step = "running/asked"     // a newcomer fits, and ACCEPT is not sent
	RunningReady     Step = "running/ready"     // READY is there, and all goes on
	RunningFrozen    Step = "running/frozen"    // nobody is served
	RunningOffered   Step = "running/offered"   // the newcomer has the connections; COMMIT is not sent
	RunningCommitted Step = "running/committed" // COMMIT is sent
	RunningLeft      Step = "running/left"      // its connections are closed, its worker ID is not given back
)

// Steps are all those of a takeover.
var Steps = []Step{
	NewcomerAccepted, NewcomerRehearsed, NewcomerReady, NewcomerReceived, NewcomerCommitted, NewcomerStarted, NewcomerServes,
	RunningAsked, RunningReady, RunningFrozen, RunningOffered, RunningCommitted, RunningLeft,
}
