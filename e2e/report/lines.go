package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// Usual is how long a client may wait for a single ID before it counts as a stall. On a machine
// that runs a whole cluster on two cores, the scheduler alone costs several milliseconds.
const Usual = 10 * time.Millisecond

// mostBuckets bounds what a line holds.
const mostBuckets = 1 << 20

// Replies hands over each entry of one client's log, in the log's order. It returns what yield
// returns, at once.
type Replies func(yield func(evidence.Reply) error) error

// Host is one host and the logs of its clients.
type Host struct {
	Name    string
	Clients []Replies
}

// File returns the replies in a file that a client has written.
func File(path string) Replies {
	return func(yield func(evidence.Reply) error) error { return evidence.ReadReplies(path, yield) }
}

// Every returns a bucket's length for a timeline: a round one, of which there are at most 400.
func Every(began, ended evidence.Mono) time.Duration {
	for _, every := range []time.Duration{100, 250, 500, 1000, 2000, 5000, 10_000, 30_000} {
		if every *= time.Millisecond; time.Duration(ended-began) <= 400*every {
			return every
		}
	}
	return time.Duration(ended-began)/400 + 1
}

// Lines makes the timelines of hosts from what their clients logged between began and ended, which
// is when the clients were told to stop. every is a bucket's length. An error is one of reading,
// with the host's name.
//
// A stall is an interval longer than Usual in which a client that asks for one ID at a time waited:
// from the first request that was not served to the first one that was, whatever became of those
// between. An error is no answer. A client that had an answer, and after it logged nothing until
// ended, waited as well. The time before a client's first answer is its daemon's start and no
// stall.
func Lines(hosts []Host, began, ended evidence.Mono, every time.Duration) ([]Line, error) {
	if began < 0 || ended < began || every <= 0 || time.Duration(ended-began)/every >= mostBuckets {
		return nil, fmt.Errorf("no timeline from %d to %d ns in steps of %v: want an end after the beginning, and fewer than %d steps", began, ended, every, mostBuckets)
	}
	lines := make([]Line, 0, len(hosts))
	for _, h := range hosts {
		line := Line{Host: h.Name, Every: every, IDs: make([]uint32, (time.Duration(ended-began)+every-1)/every)}
		var stalls []Span
		for _, replies := range h.Clients {
			w := waiting{began: began, ended: ended}
			err := replies(func(r evidence.Reply) error {
				count(line.IDs, r, began, ended, every)
				w.add(r)
				return nil
			})
			if err != nil {
				return nil, fmt.Errorf("cannot draw the timeline of %s: %w", h.Name, err)
			}
			stalls = append(stalls, w.end()...)
		}
		line.Stalls = union(stalls)
		lines = append(lines, line)
	}
	return lines, nil
}

// count adds the IDs of a reply to its bucket.
func count(buckets []uint32, r evidence.Reply, began, ended evidence.Mono, every time.Duration) {
	if r.Outcome != evidence.Got || r.Answered < began || r.Answered >= ended {
		return
	}
	at := time.Duration(r.Answered-began) / every
	n := uint64(buckets[at])
	for _, run := range r.IDs {
		n += uint64(max(run.N, 0))
	}
	buckets[at] = uint32(min(n, math.MaxUint32))
}

// waiting follows one client's single requests.
type waiting struct {
	began, ended evidence.Mono

	served bool          // an answer has come
	last   evidence.Mono // the latest answer
	unmet  bool          // a request has failed, and no answer has come since
	since  evidence.Mono // when the first such request was sent
	failed evidence.Mono // when it was known to have failed
	stalls []Span
}

func (w *waiting) add(r evidence.Reply) {
	if r.Asking != evidence.Single {
		return
	}
	if r.Outcome != evidence.Got {
		if w.served && !w.unmet {
			w.unmet, w.since, w.failed = true, r.Asked, r.Answered
		}
		return
	}
	// A client with several connections may log an answer after the failure that came later.
	if w.unmet && r.Answered >= w.failed {
		w.stall(w.since, r.Answered)
		w.unmet = false
	}
	if w.served {
		w.stall(r.Asked, r.Answered)
	}
	w.served, w.last = true, max(w.last, r.Answered)
}

// end returns the stalls, when all has been added.
func (w *waiting) end() []Span {
	switch {
	case w.unmet:
		w.stall(w.since, w.ended)
	case w.served:
		w.stall(w.last, w.ended)
	}
	return w.stalls
}

func (w *waiting) stall(from, to evidence.Mono) {
	s := Span{From: max(from, w.began), To: min(to, w.ended)}
	if s.Length() > Usual {
		w.stalls = append(w.stalls, s)
	}
}

// union returns what the spans cover, in order.
func union(spans []Span) []Span {
	slices.SortFunc(spans, func(a, b Span) int { return cmp.Compare(a.From, b.From) })
	var all []Span
	for _, s := range spans {
		if n := len(all); n > 0 && s.From <= all[n-1].To {
			all[n-1].To = max(all[n-1].To, s.To)
		} else {
			all = append(all, s)
		}
	}
	return all
}

// LongestStall returns the longest stall of any host; 0 if there is none.
func LongestStall(lines []Line) time.Duration {
	var longest time.Duration
	for _, l := range lines {
		for _, s := range l.Stalls {
			longest = max(longest, s.Length())
		}
	}
	return longest
}

// Recovery returns how long after the end of the last fault every host had IDs again: to the end of
// the last stall that lies over that end, or begins within twice Usual after it. 0 if there is
// none.
func Recovery(faults []Fault, lines []Line) time.Duration {
	if len(faults) == 0 {
		return 0
	}
	over := faults[0].Until
	for _, f := range faults {
		over = max(over, f.Until)
	}
	var recovery time.Duration
	for _, l := range lines {
		for _, s := range l.Stalls {
			if s.From <= over+evidence.Mono(2*Usual) {
				recovery = max(recovery, time.Duration(s.To-over))
			}
		}
	}
	return recovery
}
