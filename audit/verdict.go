package audit

// The invariants, as indexes of Verdict.Findings.
const (
	Unique   = iota // no ID twice, and none that no daemon recorded
	Granted         // each tick at or below the ceiling that was acknowledged when it was issued
	Disjoint        // no two holders of a worker ID share a range of ticks
	Rising          // IDs rise on a connection
	Skewed          // IDs of different hosts are ordered as well as their clocks agree
	Timely          // no ID is further ahead of the true time than may be
	Linear          // the calls on each worker ID's record are as if one came after the other
	invariants
)

var titles = [invariants]string{
	Unique:   "no ID twice",
	Granted:  "at or below the acknowledged ceiling",
	Disjoint: "holders of a worker ID share no ticks",
	Rising:   "IDs rise on a connection",
	Skewed:   "IDs of two hosts within the skew of their clocks",
	Timely:   "no ID too far ahead of the true time",
	Linear:   "calls on a worker ID as if one came after the other",
}

// The kinds of violations, by invariant. What is counted is said with each.
const (
	IssuedTwice   = "issued twice"                     // IDs in the daemons' logs, each time after the first
	ReceivedTwice = "received twice"                   // IDs in the clients' logs, each time after the first
	Unrecorded    = "received, and not recorded"       // received IDs that no daemon of their host recorded
	Early         = "received before it was made"      // received IDs that were recorded later than they were received
	Stale         = "recorded before it was asked for" // received IDs: somebody else may have got them as well
	NoID          = "not an ID of the layout"          // integers in any log

	AboveCeiling   = "above the acknowledged ceiling"                // issued IDs
	Unacknowledged = "an acknowledgement without a record"           // ceilings that a daemon was told of and the history does not have
	UnknownClaim   = "a claim without a record"                      // openings that a daemon was told of and the history does not have
	Unfenced       = "a record written by one who had been replaced" // versions of records
	LeftBelow      = "a record left below what was issued"           // openings
	Lowered        = "a ceiling that fell, and was not given back"   // versions of records
	Uncut          = "above a floor that its daemon knew of"         // issued IDs, of openings before the raise
	Overlap        = "two holders in one range of ticks"             // holders whose ticks begin within those of another
	BelowFloor     = "at or below the floor"                         // issued IDs
	LowFloor       = "a floor below what was granted before"         // openings, or below the cluster's floor
	Descent        = "went down"                                     // rows of IDs that begin below one before them on the connection
	Behind         = "behind an ID that another host gave before"    // requests
	Ahead          = "ahead of the true time"                        // issued IDs
	Unexplained    = "no order of the calls explains their answers"  // worker IDs
)

// Verdict is what came of a judgement.
type Verdict struct {
	Counts
	Hosts    []HostCounts
	Findings [invariants]Finding // in the order of the invariants

	// Calls are the calls on the coordinator that Linear judged, by their outcomes.
	Calls struct{ Done, Lost, Unknown int }
}

// Counts is what was looked at.
type Counts struct {
	Issued   uint64 // IDs that daemons recorded
	Received uint64 // IDs that clients recorded
	Lost     uint64 // IDs that were issued and that no client recorded

	Got, Refused, LostReplies, Unsent uint64 // requests, by evidence.Outcome
}

// HostCounts is the part of one host.
type HostCounts struct {
	Host   string
	Starts int // starts of a daemon
	Counts
}

// Finding is what was found against one invariant.
type Finding struct {
	Invariant string
	Judged    bool // false if it was left out
	Count     uint64
	Kinds     map[string]uint64 // of which, by kind
	Examples  []string          // at most 10
}

const (
	maxExamples = 10
	maxOfAKind  = 5
)

// Violations is how many there are of all invariants: 0 is what is promised.
func (v Verdict) Violations() uint64 {
	n := uint64(0)
	for _, f := range v.Findings {
		n += f.Count
	}
	return n
}

// Examples are those of all findings, each with its invariant.
func (v Verdict) Examples() []string {
	var all []string
	for _, f := range v.Findings {
		for _, e := range f.Examples {
			all = append(all, f.Invariant+": "+e)
		}
	}
	return all
}

func newVerdict(sites []site, c Cluster) Verdict {
	v := Verdict{Hosts: make([]HostCounts, len(sites))}
	for i, s := range sites {
		v.Hosts[i].Host = s.name
	}
	for i := range v.Findings {
		v.Findings[i] = Finding{Invariant: titles[i], Judged: c.judges(i), Kinds: map[string]uint64{}}
	}
	return v
}

// against notes n violations. The example is made only if there is room for it.
func (v *Verdict) against(invariant int, kind string, n uint64, example func() string) {
	f := &v.Findings[invariant]
	of := f.Kinds[kind]
	f.Count += n
	f.Kinds[kind] = of + n
	if len(f.Examples) < maxExamples && f.examplesOf(kind) < maxOfAKind {
		f.Examples = append(f.Examples, kind+": "+example())
	}
}

// examplesOf counts the examples of a kind.
func (f *Finding) examplesOf(kind string) int {
	n := 0
	for _, e := range f.Examples {
		if len(e) > len(kind) && e[:len(kind)] == kind && e[len(kind)] == ':' {
			n++
		}
	}
	return n
}

// judges reports whether an invariant is judged at all.
func (c Cluster) judges(invariant int) bool {
	switch invariant {
	case Rising, Skewed:
		return !c.Unordered
	case Timely:
		return c.Lead > 0
	case Linear:
		return c.linearizable()
	default:
		return true
	}
}
