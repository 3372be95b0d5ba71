package resp

import (
	"cmp"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
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
	kind    kind
	form    form.Form // of the IDs; those of runs are integers
	tenant  uint32
	command int             // the request's
	begun   clockguard.Mono // when the clock was read for it first; 0: not yet
	left    int             // IDs still to be taken, or, while sending, still to be sent
	taken   []generator.Run
	at      int // the run, and the ID in it, that is sent next
	within  int
	known   bool // whose the connection is
	issue   issue.Connection
}

func (w *work) begin(k kind, n int, o options) {
	w.kind, w.left, w.tenant, w.form, w.begun = k, n, o.tenant, o.form, 0
	w.issue.Singles = k == singles
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
	if !w.known {
		w.known, w.issue.User = true, issue.UserOf(s.Peer)
	}
	for w.kind != sending && w.left > 0 {
		run, wait := h.config.Source.Take(&w.issue, w.tenant, w.left)
		h.counts.took(w)
		if err := h.ids.check(w.form); err != nil && run.N > 0 {
			h.config.Count.Burnt.Add(uint64(run.N))
			run, wait = generator.Run{}, issue.Wait{Err: err}
		}
		switch {
		case run.N > 0:
			w.left -= run.N
			h.counts.issued(w.form, uint64(run.N))
			if s.rounds > 0 && w.form == form.Integer && run.First > largestDouble {
				s.sayRounds(h.config.Count, h.config.Rounds)
			}
			if w.kind == singles {
				out = h.ids.append(out, w.form, run.First, run.N)
				h.counts.answered(w, uint64(run.N))
				if h.extra += takeRoom; len(out)+h.extra >= h.output && w.left > 0 {
					return out, Next{State: Write}
				}
			} else {
				w.taken = append(w.taken, run)
			}
		case wait.Err != nil:
			h.counts.command = w.command
			out = h.refuse(out, refusalOf(wait.Err))
			h.counts.settled(w, 1)
			h.config.Count.Burnt.Add(w.count())
			if w.kind != singles {
				return out, Next{}
			}
			// The others of these requests have been here as long: their deadline is the same, and
			// they are refused as well unless there are IDs by now. A refusal is longer than an ID.
			if w.left--; len(out)+h.extra >= h.output {
				return out, Next{State: Write}
			}
		default:
			return out, Next{State: Wait, For: wait.For, Event: wait.Event, InTurn: wait.InTurn}
		}
	}
	switch w.kind {
	case batch:
		h.counts.answered(w, 1)
		n := w.count()
		out = appendArray(out, int(n))
		w.kind, w.left, w.at, w.within = sending, int(n), 0, 0
	case runs:
		h.counts.answered(w, 1)
		out = appendArray(out, 1+2*len(w.taken))
		out = appendInt(out, h.ids.step)
		for _, run := range w.taken {
			out = appendInt(out, run.First)
			out = appendInt(out, int64(run.N))
		}
		return out, Next{}
	case singles:
		return out, Next{}
	}
	return h.send(s, out)
}

// refusalOf is what a client is told when it gets no IDs.
func refusalOf(err error) *Refusal {
	r := Refuse(Unavailable, err)
	r.Code = cmp.Or(issue.Code(err), r.Code)
	return r
}

// count is how many IDs have been taken.
func (w *work) count() (n uint64) {
	for _, run := range w.taken {
		n += uint64(run.N)
	}
	return n
}

// Abandon gives up the session's request, whose client is gone. It may be called at any time after
// the last Serve, and more than once.
func (h *Handler) Abandon(s *Session) {
	w := &s.work
	w.issue.End()
	switch w.kind {
	case batch, runs:
		h.config.Count.Burnt.Add(w.count())
		h.counts.gone(w.command, 1)
	case singles:
		h.counts.gone(w.command, uint64(w.left))
	}
	w.kind, w.taken = idle, nil
}

// send appends as many of the batch's IDs as there is room for.
func (h *Handler) send(s *Session, out []byte) ([]byte, Next) {
	w := &s.work
	for w.left > 0 {
		room := (h.output - len(out)) / widths[w.form]
		if room <= 0 {
			return out, Next{State: Write}
		}
		run := w.taken[w.at]
		n := min(room, run.N-w.within)
		out = h.ids.append(out, w.form, run.First+int64(w.within)*h.ids.step, n)
		w.left -= n
		if w.within += n; w.within == run.N {
			w.at, w.within = w.at+1, 0
		}
	}
	return out, Next{}
}

// beginNexts begins the plain NEXTs that in begins with, as many as there is room for replies, and
// returns how many.
func beginNexts(h *Handler, s *Session, in []byte, room int) int {
	f := s.formOr(h.config.Form)
	n := leadingNexts(in, 1+room/widths[f])
	if n > 0 {
		s.work.begin(singles, n, options{form: f})
		s.work.command = nextCommand
	}
	return n
}

// next is NEXT [count] [TENANT t] [AS form].
func (h *Handler) next(s *Session, args [][]byte, out []byte) []byte {
	count, kind := 1, singles
	if len(args) > 0 && !is(args[0], "TENANT") && !is(args[0], "AS") {
		n, r := Count(h.config.Limits.Count, args[0])
		if r != nil {
			return h.refuse(out, r)
		}
		count, kind, args = n, batch, args[1:]
	}
	o, r := h.options(s, args, nextUsage)
	if r != nil {
		return h.refuse(out, r)
	}
	s.work.begin(kind, count, o)
	return out
}

// runs is RUN count [TENANT t]. It has no form: programs count on from a run's first ID.
func (h *Handler) runs(s *Session, args [][]byte, out []byte) []byte {
	count, r := Count(h.config.Limits.Count, args[0])
	if r != nil {
		return h.refuse(out, r)
	}
	if len(args) > 1 && is(args[len(args)-2], "AS") {
		return h.refuse(out, Refuse(RunAs, shown(args[0]), shown(args[len(args)-1])))
	}
	o, r := h.options(s, args[1:], runUsage)
	if r != nil {
		return h.refuse(out, r)
	}
	o.form = form.Integer
	s.work.begin(runs, count, o)
	return out
}

// Count is how many IDs a request asks for, which may be at most so many.
func Count(most int, b []byte) (int, *Refusal) {
	n, ok := number(b)
	switch {
	case !ok || n == 0:
		return 0, Refuse(BadCount, shown(b))
	case n > uint64(most):
		return 0, Refuse(CountTooHigh, shown(b), most)
	}
	return int(n), nil
}

// options are what a request for IDs says besides their count.
type options struct {
	tenant uint32
	form   form.Form
}

// options reads the rest of a request for IDs: a tenant and a form, each once at most.
func (h *Handler) options(s *Session, args [][]byte, usage string) (o options, r *Refusal) {
	o.form = s.formOr(h.config.Form)
	var tenant, as bool
	for ; len(args) > 0; args = args[2:] {
		switch {
		case len(args) > 1 && is(args[0], "TENANT") && !tenant:
			tenant = true
			o.tenant, r = Tenant(h.tenants, args[1])
		case len(args) > 1 && is(args[0], "AS") && !as:
			as = true
			o.form, r = h.ids.named(args[1])
		default:
			r = Refuse(BadOption, shown(args[0]), usage)
		}
		if r != nil {
			return o, r
		}
	}
	if !as {
		r = h.ids.can(o.form)
	}
	return o, r
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
