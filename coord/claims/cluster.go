package claims

import (
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// cluster is the layout record as a coordinator knows it. It does not change; when
// the record does, the coordinator gets another one.
type cluster struct {
	entry   Entry
	text    string
	uuid    string
	workers int  // 0: an operator does not know
	daemon  bool // joined as a daemon, not inspected by an operator
	floor   generator.Tick
	era     string
	number  int // the era's
	window  generator.Tick
	start   uint64 // the worker ID at which assigning starts
}

// layout is the record that j is of.
func (j *cluster) layout() layout {
	return layout{Layout: j.text, UUID: j.uuid, Workers: j.workers, Floor: j.floor, Era: j.era, Window: j.window}
}

// raise is what all marks were raised to last.
func (j *cluster) raise() coord.Raise {
	return coord.Raise{Floor: j.floor, ClusterEpoch: j.era, Number: j.number}
}

// continues is the test of invariant 6: whether what the caller has was the last
// to come from the record. What was opened before the marks were raised is void.
func (j *cluster) continues(r record, request coord.Request) bool {
	return request.Opening != "" && r.Holder == request.Opening && r.Era == j.era && r.Mark <= request.Mark
}

// ceiling is the record's as the next holder finds it.
func (j *cluster) ceiling(r record) generator.Tick { return max(r.Ceiling, j.floor) }

// floorFor is the tick above which the caller would issue if it opened r.
func (j *cluster) floorFor(r record, request coord.Request) generator.Tick {
	if j.continues(r, request) {
		return request.Mark
	}
	return j.ceiling(r)
}

// leastOf is what a release never goes below: the ceiling of the grants before
// this claim's, unless those were the caller's own; then what it published. What
// all marks were raised to is never the caller's own.
func (j *cluster) leastOf(found record, continues bool) generator.Tick {
	if continues {
		return max(found.Issued, j.floor)
	}
	return j.ceiling(found)
}

// raised reports whether the marks were raised over more than the record knows of,
// and nobody has opened it since.
func (j *cluster) raised(r record) bool { return r.Era != j.era && r.Ceiling < j.floor }

// assign maps a sequence number to the worker ID that it names.
func (j *cluster) assign(number uint64) int {
	return int((number + j.start) % uint64(j.workers))
}

// inLayout reports whether the layout has the worker ID, as far as is known.
func (j *cluster) inLayout(worker int) bool { return j.workers == 0 || worker < j.workers }

// offsetOf maps a UUID to where assigning starts (FNV-1a, 64 bits).
func offsetOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(s) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
