package claims

import (
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// cluster is the cluster record as a coordinator knows it. It does not change; when
// the record does, the coordinator gets another one.
type cluster struct {
	entry   Entry
	text    string
	uuid    string
	workers int  // that the layout has; 0: an operator does not know
	daemon  bool // joined as a daemon, not inspected by an operator
	floor   generator.Tick
	epoch   string
	number  int // the cluster epoch's
	window  generator.Tick
	allowed coord.WorkerRange // the zero value: all
	numbers coord.WorkerRange // what numbers name worker IDs of; the zero value: all
	above   generator.Tick    // the ceiling of a worker ID without a record
	start   uint64            // the worker ID at which assigning starts

	imported string // see layout
}

// layout is the record that j is of.
func (j *cluster) layout() layout {
	return layout{
		Layout: j.text, UUID: j.uuid, Workers: j.workers, Floor: j.floor, Epoch: j.epoch, Window: j.window,
		Range: j.allowed, Numbered: j.numbers, Above: j.above, Imported: j.imported,
	}
}

// raise is what all marks were raised to last.
func (j *cluster) raise() coord.Raise {
	return coord.Raise{Floor: j.floor, ClusterEpoch: j.epoch, Number: j.number}
}

// own is the test of invariant 6: whether what the caller has was the last to come
// from the record. What was opened before the marks were raised is void.
func (j *cluster) own(r record, request coord.Request) bool {
	return request.Opening != "" && r.Holder == request.Opening && r.Epoch == j.epoch && r.Mark <= request.Mark
}

// continues reports whether the caller goes on from what it has. Although that is its own
// it does not where the caller's time is past the end of the interval, or more than a window
// past what it was granted there; nor where its mark is too far ahead of that time, and
// the record has room that is not.
func (j *cluster) continues(r record, request coord.Request) bool {
	switch {
	case !j.own(r, request):
		return false
	case r.Until != 0 && request.At >= r.Until || far(r.granted(), request.At, j.window):
		return false
	}
	return request.Mark <= request.Latest || j.vacancyIn(r, request).floor > request.Latest
}

// found is the record as the next holder finds it, also where there is none yet.
func (j *cluster) found(r record) record {
	floor := j.floor
	if r.Holder == "" {
		floor = max(floor, j.above)
	}
	return r.raisedTo(floor)
}

// vacancyIn is where the caller opens r if it does not continue.
func (j *cluster) vacancyIn(r record, request coord.Request) vacancy {
	return j.found(r).vacancy(request.At, j.window)
}

// floorFor is the tick above which the caller could issue if it opened r. A leap is
// reckoned as what it is a leap from.
func (j *cluster) floorFor(r record, request coord.Request) generator.Tick {
	if j.continues(r, request) {
		return request.Mark
	}
	return j.vacancyIn(r, request).from
}

// minimumOf is what a release of a claim that continues never goes below: what was
// published, and what all marks were raised to, which is never the caller's own.
func (j *cluster) minimumOf(found record) generator.Tick { return max(found.Issued, j.floor) }

// raised reports whether the marks were raised over more than the record knows of,
// and nobody has opened it since.
func (j *cluster) raised(r record) bool { return r.Epoch != j.epoch && r.Ceiling < j.floor }

// assign maps a sequence number to the worker ID that it names.
//
// It does not follow a widening: the numbers of live claim nodes go on to name what they named.
func (j *cluster) assign(number uint64) int {
	r := j.numbers.Of(j.workers)
	return r.First + int((number+j.start)%uint64(r.Count))
}

// ids are the worker IDs that claims may name.
func (j *cluster) ids() coord.WorkerRange { return j.allowed.Of(j.workers) }

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
