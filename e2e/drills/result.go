//go:build e2e

package drills

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/e2e/report"
	"github.com/flakeward/flakeward/generator"
)

// Result is what a drill left, for its Judge. It is for one goroutine.
type Result struct {
	Drill   *report.Drill
	Run     *Run
	History []history.Version
	Past    [][]history.Version // of trees that were wiped
	Verdict audit.Verdict

	known  bool // the history was read
	hosts  []*HostResult
	failed []string
}

// Host is what host i's clients saw.
func (res *Result) Host(i int) *HostResult { return res.hosts[i] }

// Faults are the faults whose kind begins with kind, in the order in which they were noted: "clock"
// finds "clock -1h".
func (res *Result) Faults(kind string) []report.Fault {
	var found []report.Fault
	for _, f := range res.Drill.Faults {
		if strings.HasPrefix(f.Kind, kind) {
			found = append(found, f)
		}
	}
	return found
}

// Workers are the worker IDs, ascending, of the IDs that host i's clients got in replies to
// requests sent from from until to.
func (res *Result) Workers(i int, from, to evidence.Mono) []int {
	var workers []int
	for _, r := range res.hosts[i].between(from, to) {
		if r.Outcome != evidence.Got {
			continue
		}
		for _, run := range r.IDs {
			// A run is of one tick, and so of one worker ID.
			parts, err := res.Run.Layout.Decompose(run.First)
			if err != nil {
				res.Fail("%s got %d, which is no ID of the layout: %v", res.hosts[i].name, run.First, err)
				continue
			}
			worker := workerOf(parts)
			if at, found := slices.BinarySearch(workers, worker); !found {
				workers = slices.Insert(workers, at, worker)
			}
		}
	}
	return workers
}

func workerOf(p generator.Parts) int { return int(p.Worker) }

// Fail says that something that must hold did not: the drill fails.
func (res *Result) Fail(format string, args ...any) {
	res.failed = append(res.failed, fmt.Sprintf(format, args...))
}

// Figure reports a measured value beside the one that is wanted, if any; it fails nothing.
func (res *Result) Figure(name, got, want string, met bool) {
	res.Drill.Figures = append(res.Drill.Figures, report.Figure{Name: name, Got: got, Want: want, Met: met})
}

// Stall replaces the longest stall, which is of all hosts otherwise.
func (res *Result) Stall(d time.Duration) { res.Drill.LongestStall = d }

// Recovered replaces the time from the last fault's end to IDs on every host.
func (res *Result) Recovered(d time.Duration) { res.Drill.Recovery = d }

// HostResult is what the clients of one host saw.
type HostResult struct {
	Replies []evidence.Reply // in the order of Asked

	name string
}

func newHostResult(name string, replies []evidence.Reply) *HostResult {
	replies = slices.Clone(replies)
	slices.SortStableFunc(replies, func(a, b evidence.Reply) int { return int(a.Asked - b.Asked) })
	return &HostResult{Replies: replies, name: name}
}

// between are the replies to requests sent from from until to.
func (h *HostResult) between(from, to evidence.Mono) []evidence.Reply {
	at := func(t evidence.Mono) int {
		i, _ := slices.BinarySearchFunc(h.Replies, t, func(r evidence.Reply, t evidence.Mono) int { return int(r.Asked - t) })
		return i
	}
	return h.Replies[at(from):max(at(from), at(to))]
}

// LongestStall is the longest time within [from, to] in which whoever asks for one ID at a time
// waited for one: from the first request that was not served to the next one that was.
func (h *HostResult) LongestStall(from, to evidence.Mono) time.Duration {
	return h.longestStall(evidence.Single, from, to)
}

func (h *HostResult) longestStall(way evidence.Asking, from, to evidence.Mono) time.Duration {
	var longest evidence.Mono
	for begins, ends := range h.waits(way, to) {
		longest = max(longest, min(ends, to)-max(begins, from))
	}
	return time.Duration(longest)
}

// waits are from each first request that was not served to the next one that was; to the end where
// none was.
func (h *HostResult) waits(way evidence.Asking, end evidence.Mono) iter.Seq2[evidence.Mono, evidence.Mono] {
	return func(yield func(begins, ends evidence.Mono) bool) {
		unmet := open // since when
		for _, r := range h.Replies {
			if r.Asking != way {
				continue
			}
			if unmet == open {
				unmet = r.Asked
			}
			if r.Outcome == evidence.Got {
				if !yield(unmet, r.Answered) {
					return
				}
				unmet = open
			}
		}
		if unmet != open {
			yield(unmet, end)
		}
	}
}

// unnoticed is how long a client may wait for a single ID before it counts as a stall in the report. On a
// machine that runs a whole cluster on two cores, the scheduler alone costs several milliseconds.
const unnoticed = 10 * time.Millisecond

// stall is the longest time that a client of any host waited for an ID, from its first one on; 0 if
// no wait was longer than unnoticed.
func (res *Result) stall() (longest time.Duration) {
	for _, h := range res.hosts {
		longest = max(longest, h.LongestStall(h.begun(), res.Drill.Ended))
	}
	if longest <= unnoticed {
		return 0
	}
	return longest
}

// recovery is how long after the end of the last fault each host had IDs again: to the end of the last
// stall that lies over that end, or begins soon after it. 0 if there is none.
func (res *Result) recovery() (recovery time.Duration) {
	over := evidence.Mono(0)
	for _, f := range res.Drill.Faults {
		over = max(over, f.Until)
	}
	for _, h := range res.hosts {
		for begins, ends := range h.waits(evidence.Single, res.Drill.Ended) {
			if over > 0 && begins >= h.begun() && time.Duration(ends-begins) > unnoticed && begins <= over+evidence.Mono(2*unnoticed) {
				recovery = max(recovery, time.Duration(ends-over))
			}
		}
	}
	return recovery
}

// LongestStall is that of the host whose is the longest.
func (res *Result) LongestStall(from, to evidence.Mono) (worst time.Duration) {
	for _, h := range res.hosts {
		worst = max(worst, h.LongestStall(from, to))
	}
	return worst
}

// Failed are the replies to requests sent from from until to whose outcome is among outcomes;
// without any, all that are not Got.
func (h *HostResult) Failed(from, to evidence.Mono, outcomes ...evidence.Outcome) []evidence.Reply {
	var failed []evidence.Reply
	for _, r := range h.between(from, to) {
		if r.Outcome != evidence.Got && (len(outcomes) == 0 || slices.Contains(outcomes, r.Outcome)) {
			failed = append(failed, r)
		}
	}
	return failed
}

// First is, of the replies with IDs to requests sent after after, the one that came first.
func (h *HostResult) First(after evidence.Mono) (evidence.Reply, bool) {
	var first evidence.Reply
	found := false
	for _, r := range h.between(after+1, endless) {
		if found && r.Asked >= first.Answered {
			break
		}
		if r.Outcome == evidence.Got && (!found || r.Answered < first.Answered) {
			first, found = r, true
		}
	}
	return first, found
}

// endless is after everything.
const endless = evidence.Mono(1<<63 - 1)

// IDs is how many IDs arrived in replies to requests sent from from until to.
func (h *HostResult) IDs(from, to evidence.Mono) int {
	n := 0
	for _, r := range h.between(from, to) {
		n += idsIn(r)
	}
	return n
}

// begun is when the first reply with IDs came.
func (h *HostResult) begun() evidence.Mono {
	r, _ := h.First(0)
	return r.Answered
}
