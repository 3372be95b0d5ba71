package claims

import (
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// cluster is the cluster record as a coordinator knows it. It does not change; when
// the record does, the coordinator gets another one.
type cluster struct {
	entry   Entry
	record  layout
	text    string
	uuid    string
	daemon  bool // joined as a daemon, not inspected by an operator
	floor   generator.Tick
	epoch   string
	allowed coord.WorkerRange // the zero value: all
	start   uint64            // the worker ID at which assigning starts
}

// raise is what all marks were raised to last.
func (j *cluster) raise() coord.Raise {
	return coord.Raise{Floor: j.floor, ClusterEpoch: j.epoch}
}

// found is the record as the next holder finds it, also where there is none yet.
func (j *cluster) found(r record) record {
	r.Ceiling = max(r.Ceiling, j.floor)
	return r
}

// opening is the record as an opening writes it, still without the opening's ID.
func (j *cluster) opening(found record) record {
	r := j.found(found)
	r.Time, r.Issued = 0, 0 // the holder before has issued that
	return r
}

// raised reports whether the marks were raised over more than the record knows of,
// and nobody has opened it since.
func (j *cluster) raised(r record) bool { return !j.opened(r) && r.Ceiling < j.floor }

// opened reports whether the record was opened since the marks were raised last.
func (j *cluster) opened(r record) bool { return coord.ClusterEpochOf(r.Holder) == j.epoch }

// assign maps a sequence number to the worker ID that it names.
func (j *cluster) assign(number uint64) int {
	r := j.ids()
	return r.First + int((number+j.start)%uint64(r.Count))
}

// ids are the worker IDs that claims may name.
func (j *cluster) ids() coord.WorkerRange { return j.allowed.Of(j.record.Workers) }

// inLayout reports whether the layout has the worker ID.
func (j *cluster) inLayout(worker int) bool { return worker < j.record.Workers }

// offsetOf maps a UUID to where assigning starts (FNV-1a, 64 bits).
func offsetOf(s string) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range []byte(s) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return h
}
