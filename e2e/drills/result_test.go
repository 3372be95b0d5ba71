//go:build e2e

package drills

import (
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit"
	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
)

// Result is what a drill left, for its judge. It is for one goroutine.
type Result struct {
	*Record
	Run          *Run
	Began, Ended evidence.Mono // of the script
	History      []history.Version
	Past         [][]history.Version // of trees that were wiped
	Verdict      audit.Verdict

	failed []string
}

// Fail says that something that must hold did not: the drill fails.
func (res *Result) Fail(format string, args ...any) {
	res.failed = append(res.failed, fmt.Sprintf(format, args...))
}

// within says so if something took longer than is aimed at, and fails the drill if it took longer
// than was promised, with room for a busy machine.
func (res *Result) within(what string, took, aim, limit time.Duration) {
	rounded := took.Round(100 * time.Microsecond)
	if took > aim {
		res.Missed = append(res.Missed, fmt.Sprintf("%s: %v, wanted <= %v", what, rounded, aim))
	}
	if took > limit {
		res.Fail("%s took %v, more than %v", what, rounded, limit)
	}
}

// stalled is within for the longest stall of hosts from one instant to another.
func (res *Result) stalled(from, to evidence.Mono, aim, limit time.Duration, hosts ...*Host) {
	res.canTell(time.Duration(to-from), limit)
	for _, h := range hosts {
		res.within("longest stall of "+h.Name, h.Replies.LongestStall(from, to), aim, limit)
	}
}

// canTell fails the drill if a stall is never above its limit, since it is only looked for within a
// window that is no longer.
func (res *Result) canTell(window, limit time.Duration) {
	if window <= limit {
		res.Fail("the drill is void: a stall is at most %v, which it is looked for within, and may be %v", window.Round(time.Millisecond), limit)
	}
}

// noneFailed fails the drill if requests to hosts, sent from from until to, did not succeed.
func (res *Result) noneFailed(from, to evidence.Mono, hosts ...*Host) {
	for _, h := range hosts {
		if failed := h.Replies.Failed(from, to); len(failed) > 0 {
			f := failed[0]
			res.Fail("%s: %d requests failed, the first %v after the drill began: outcome %d, %q", h.Name, len(failed),
				time.Duration(f.Asked-res.Began).Round(time.Millisecond), f.Outcome, f.Text)
		}
	}
}

// neverFailed is noneFailed over the whole drill.
func (res *Result) neverFailed(hosts ...*Host) { res.noneFailed(res.Began, res.Ended, hosts...) }

// first is of the reply with IDs to a request after an instant that came first.
func (res *Result) first(h *Host, after evidence.Mono) evidence.Reply {
	reply, ok := h.Replies.First(after)
	if !ok {
		res.Fail("%s serves no more", h.Name)
	}
	return reply
}

// workers are the worker IDs, ascending, of the IDs that a host's clients got from from until to.
func (res *Result) workers(h *Host, from, to evidence.Mono) (workers []int) {
	for _, reply := range h.Replies {
		if reply.Answered < from || reply.Answered > to {
			continue
		}
		for _, run := range reply.IDs {
			// A run is of one tick, and so of one worker ID.
			p, err := res.Run.Layout.Decompose(run.First)
			if err != nil {
				res.Fail("%s gave %d: %v", h.Name, run.First, err)
				return nil
			}
			if at, ok := slices.BinarySearch(workers, int(p.Worker)); !ok {
				workers = slices.Insert(workers, at, int(p.Worker))
			}
		}
	}
	return workers
}

// from fails the drill unless a host's clients got IDs of that worker ID, and no other, from from
// until to.
func (res *Result) from(worker int, h *Host, from, to evidence.Mono) {
	if got := res.workers(h, from, to); !slices.Equal(got, []int{worker}) {
		res.Fail("%s issued from the worker IDs %v, and should from %d", h.Name, got, worker)
	}
}

// replies are what the clients of one host saw, in the order of Asked.
type replies []evidence.Reply

func inOrder(all []evidence.Reply) replies {
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b evidence.Reply) int { return int(a.Asked - b.Asked) })
	return all
}

// between are the replies to requests sent from from until to.
func (all replies) between(from, to evidence.Mono) replies {
	at := func(t evidence.Mono) int {
		i, _ := slices.BinarySearchFunc(all, t, func(r evidence.Reply, t evidence.Mono) int { return int(r.Asked - t) })
		return i
	}
	return all[at(from):max(at(from), at(to))]
}

// LongestStall is the longest time within [from, to] in which whoever asks for one ID at a time
// waited for one: from the first request that was not served to the next one that was, or to the
// end.
func (all replies) LongestStall(from, to evidence.Mono) time.Duration {
	const none evidence.Mono = -1
	longest, unmet := evidence.Mono(0), none // since when
	for _, r := range all {
		if r.Asking != evidence.Single {
			continue
		}
		if unmet == none {
			unmet = r.Asked
		}
		if r.Outcome == evidence.Got {
			longest = max(longest, min(r.Answered, to)-max(unmet, from))
			unmet = none
		}
	}
	if unmet != none {
		longest = max(longest, to-max(unmet, from))
	}
	return time.Duration(longest)
}

// Failed are the replies to requests sent from from until to whose outcome is among outcomes;
// without any, all that are not Got.
func (all replies) Failed(from, to evidence.Mono, outcomes ...evidence.Outcome) (failed replies) {
	for _, r := range all.between(from, to) {
		if r.Outcome != evidence.Got && (len(outcomes) == 0 || slices.Contains(outcomes, r.Outcome)) {
			failed = append(failed, r)
		}
	}
	return failed
}

// First is, of the replies with IDs to requests sent after after, the one that came first.
func (all replies) First(after evidence.Mono) (first evidence.Reply, found bool) {
	for _, r := range all.between(after+1, endless) {
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
func (all replies) IDs(from, to evidence.Mono) (n int) {
	for _, r := range all.between(from, to) {
		n += idsIn(r)
	}
	return n
}
