package resp

import (
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
)

// kind is what a session is in the middle of.
type kind uint8

const (
	idle    kind = iota
	singles      // NEXT without a count, once or several times: an integer for each
	batch        // NEXT with a count: an array of IDs
	runs         // RUN: an array of runs
	sending      // a batch whose IDs are all there, on their way out
)

// work is what is left of a request for IDs. The IDs of an array are all taken before the first is
// replied, since the array's length comes first and an error can only take the array's place. They
// are kept as runs, so that is little.
type work struct {
	kind   kind
	tenant uint32
	left   int // IDs still to be taken, or, while sending, still to be sent
	taken  []generator.Run
	at     int // the run, and the ID in it, that is sent next
	within int
	issue  issue.Connection
}

func (w *work) begin(k kind, n int, tenant uint32) {
	w.kind, w.left, w.tenant = k, n, tenant
}

// keptRuns is how many runs a session keeps room for while it is idle.
const keptRuns = 64

// done readies w for the next request.
func (w *work) done(nextIsHere bool) {
	w.kind = idle
	w.taken = w.taken[:0]
	if cap(w.taken) > keptRuns {
		w.taken = nil
	}
	if nextIsHere {
		w.issue.BeginQueued()
	} else {
		w.issue.Begin()
	}
}

// proceed goes on with the session's work: to its end (Read), until replies have to be sent first
// (Write) or IDs to be waited for (Wait).
func (h *Handler) proceed(s *Session, out []byte) ([]byte, Next) {
	w := &s.work
	w.issue.Number = uint32(s.ID)
	for w.kind != sending && w.left > 0 {
		run, wait := h.config.Source.Take(&w.issue, w.tenant, w.left)
		switch {
		case run.N > 0:
			w.left -= run.N
			h.tally.IDs += uint64(run.N)
			if w.kind == singles {
				out = h.line.appendRun(out, run.First, h.step, run.N)
			} else {
				w.taken = append(w.taken, run)
			}
		case wait.Err != nil:
			out = h.refuse(out, Refuse(Unavailable, wait.Err))
			if w.kind != singles {
				return out, Next{}
			}
			// The others of these requests have been here as long: their deadline is the same, and
			// they are refused as well unless there are IDs by now.
			w.left--
		default:
			return out, Next{State: Wait, For: wait.For, Event: wait.Event}
		}
	}
	switch w.kind {
	case batch:
		n := 0
		for _, run := range w.taken {
			n += run.N
		}
		out = appendArray(out, n)
		w.kind, w.left, w.at, w.within = sending, n, 0, 0
	case runs:
		out = appendArray(out, 1+2*len(w.taken))
		out = appendInt(out, h.step)
		for _, run := range w.taken {
			out = appendInt(out, run.First)
			out = appendInt(out, int64(run.N))
		}
		return out, Next{}
	case singles:
		return out, Next{}
	}
	return h.send(w, out)
}

// widestID is the length of the longest integer reply that is an ID.
const widestID = len(":9223372036854775807\r\n")

// send appends as many of the batch's IDs as there is room for.
func (h *Handler) send(w *work, out []byte) ([]byte, Next) {
	for w.left > 0 {
		room := (h.config.Limits.Output - len(out)) / widestID
		if room <= 0 {
			return out, Next{State: Write}
		}
		run := w.taken[w.at]
		n := min(room, run.N-w.within)
		out = h.line.appendRun(out, run.First+int64(w.within)*h.step, h.step, n)
		w.left -= n
		if w.within += n; w.within == run.N {
			w.at, w.within = w.at+1, 0
		}
	}
	return out, Next{}
}

// next is NEXT [count] [TENANT t].
func (h *Handler) next(s *Session, args [][]byte, out []byte) []byte {
	count, kind := 1, singles
	if len(args) > 0 && !is(args[0], "TENANT") {
		n, r := h.count(args[0])
		if r != nil {
			return h.refuse(out, r)
		}
		count, kind, args = n, batch, args[1:]
	}
	tenant, r := h.tenant(args, nextUsage)
	if r != nil {
		return h.refuse(out, r)
	}
	s.work.begin(kind, count, tenant)
	return out
}

// runs is RUN count [TENANT t].
func (h *Handler) runs(s *Session, args [][]byte, out []byte) []byte {
	count, r := h.count(args[0])
	if r != nil {
		return h.refuse(out, r)
	}
	tenant, r := h.tenant(args[1:], runUsage)
	if r != nil {
		return h.refuse(out, r)
	}
	s.work.begin(runs, count, tenant)
	return out
}

func (h *Handler) count(b []byte) (int, *Refusal) {
	n, ok := number(b)
	switch {
	case !ok || n == 0:
		return 0, Refuse(BadCount, shown(b))
	case n > uint64(h.config.Limits.Count):
		return 0, Refuse(CountTooHigh, shown(b), h.config.Limits.Count)
	}
	return int(n), nil
}

// tenant reads the rest of a request for IDs: nothing, or TENANT and a number.
func (h *Handler) tenant(args [][]byte, usage string) (uint32, *Refusal) {
	if len(args) == 0 {
		return 0, nil
	}
	if len(args) != 2 || !is(args[0], "TENANT") {
		return 0, Refuse(BadOption, shown(args[0]), usage)
	}
	n, ok := number(args[1])
	switch {
	case ok && n <= h.tenants:
		return uint32(n), nil
	case h.tenants == 0:
		return 0, Refuse(NoTenants, shown(args[1]))
	}
	return 0, Refuse(BadTenant, shown(args[1]), h.tenants)
}

// number reads a whole number: digits only. One too large for a uint64 is no number, but still in
// digits, so the largest stands for it.
func number(b []byte) (n uint64, ok bool) {
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		d := uint64(c - '0')
		if n > (1<<64-1-d)/10 {
			n = (1<<64 - 1) / 10 // stays above any limit, whatever digits follow
			continue
		}
		n = n*10 + d
	}
	return n, len(b) > 0
}
