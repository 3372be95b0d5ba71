//go:build e2e

package drills

import (
	"context"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// restartAim is how soon a daemon serves that has nothing to wait for, counted from the start of
// its container, and restartAfter the same from the end of a grant where it has to wait for that.
const (
	restartAfter = time.Second
	restartAim   = 2 * restartAfter
)

// killed kills the daemon, and returns the worker ID that it had and how far that was granted.
func (h *Host) killed(ctx context.Context) (worker int, ceiling generator.Tick) {
	had := h.holds(ctx)
	h.Kill(ctx)
	var last history.Version
	for _, v := range h.r.History(ctx) {
		if v.Worker == had.worker {
			last = v
		}
	}
	if last.Holder != had.opening {
		fail("the drill is void: worker ID %d of %s is not its own any more: %+v", had.worker, h, last)
	}
	return had.worker, last.Ceiling
}

// passes is when the host's clock, set off as it is, has passed a tick.
func (h *Host) passes(t generator.Tick) evidence.Mono {
	now, wall := evidence.Now(), time.Now().UnixNano()
	return now + evidence.Mono(h.r.Layout.UnixNanos(t+1)-wall-int64(h.Offset()))
}

// killsBehind has the daemon of a host for each of behind killed and started again with its clock
// so far behind, and so many times in all: each time it serves at once from another worker ID, or
// within a second of what its own was granted.
func killsBehind(times int, behind ...time.Duration) func(ctx context.Context, r *Run) func(*Result) {
	return func(ctx context.Context, r *Run) func(*Result) {
		hosts := r.Hosts[:len(behind)]
		var judges []func(*Result)
		for i, h := range hosts {
			for range times {
				judges = append(judges, killBehind(ctx, h, behind[i]))
			}
		}
		all(ctx, 1000, r.Hosts...)
		return func(res *Result) {
			for _, judge := range judges {
				judge(res)
			}
			res.neverFailed(r.Hosts[len(behind):]...)
		}
	}
}

func killBehind(ctx context.Context, h *Host, behind time.Duration) func(*Result) {
	h.AwaitIDs(ctx, 1000)
	worker, ceiling := h.killed(ctx)
	h.SetClock(-behind)
	h.Start(ctx)
	started, rested := evidence.Now(), h.passes(ceiling)
	h.r.Step("%s was killed and started again, its clock %v off; the end of what worker ID %d was granted is %v away", h, h.Offset(), worker,
		time.Duration(rested-started).Round(time.Millisecond))
	first := h.AwaitAnswer(ctx).Answered
	h.r.Step("it serves, %v after the start", time.Duration(first-started).Round(time.Millisecond))
	return func(res *Result) {
		took := time.Duration(first - started)
		switch has := res.workers(h, started, first); {
		case !slices.Contains(has, worker):
			res.within("serving from another worker ID after the start", took, restartAim, busy)
		case first < rested:
			res.Fail("%s serves from worker ID %d again, %v before its clock has passed what that was granted", h, worker, time.Duration(rested-first))
		default:
			res.within("serving after the end of the old grant", min(took, time.Duration(first-rested)), restartAfter, busy)
		}
	}
}

// rollingRestart stops every daemon, has its host lose its disk, and starts it, one after the
// other: it has the same worker ID, and no request fails, except for connections refused on its own
// host.
func rollingRestart(ctx context.Context, r *Run) func(*Result) {
	var judges []func(*Result)
	for _, h := range r.Hosts {
		all(ctx, 1000, r.Hosts...)
		r.Step("%s is stopped, its disk is lost, and it is started again", h)
		worker, from := h.holds(ctx).worker, evidence.Now()
		h.Stop(ctx)
		h.LoseDisk(ctx)
		h.Start(ctx)
		started := evidence.Now()
		to := h.AwaitAnswer(ctx).Answered
		judges = append(judges, func(res *Result) {
			res.noneFailed(res.Began, from, h)
			res.noneFailed(to, res.Ended, h)
			if failed := h.Replies.Failed(from, to, evidence.Lost, evidence.Refused); len(failed) > 0 {
				res.Fail("%s: %d requests were lost or refused by a daemon that was stopped and started in order, the first %v after the stop: outcome %d, %q", h,
					len(failed), time.Duration(failed[0].Asked-from).Round(time.Microsecond), failed[0].Outcome, failed[0].Text)
			}
			if len(h.Replies.Failed(from, to, evidence.Unsent)) == 0 {
				res.Fail("the drill is void: no connection was refused while the daemon of %s was away", h)
			}
			res.from(worker, h, started, to)
			res.within("from a start to the first ID", time.Duration(to-started), restartAim, 2*busy)
		})
	}
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		for _, judge := range judges {
			judge(res)
		}
	}
}

// stopStartAll stops everything and starts it again, with the clocks of the hosts 2 s apart: no
// accepted request is lost.
func stopStartAll(ctx context.Context, r *Run) func(*Result) {
	all(ctx, 1000, r.Hosts...)
	r.Step("all daemons are stopped, then all members of the coordinator")
	each(r.Hosts, func(h *Host) { h.Stop(ctx) })
	each(r.Members.all, func(b *box) { b.Stop(ctx) })
	r.Step("the coordinator is started, and the daemons with their clocks 2s apart")
	r.Members.StartAll(ctx)
	r.Members.AwaitQuorum(ctx)
	for i, h := range r.Hosts {
		h.SetClock(time.Duration(i-1) * 2 * time.Second)
	}
	each(r.Hosts, func(h *Host) { h.Start(ctx) })
	started := evidence.Now()
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		for _, h := range r.Hosts {
			if failed := h.Replies.Failed(res.Began, started, evidence.Lost, evidence.Refused); len(failed) > 0 {
				res.Fail("%s: %d requests were lost or refused, the first: outcome %d, %q", h, len(failed), failed[0].Outcome, failed[0].Text)
			}
			res.within("serving after the start", time.Duration(res.first(h, started).Answered-started), restartAim, 2*busy)
		}
	}
}

const (
	lostWindow = 5 * time.Second
	// lostBehind is more than a session lasts: when the worker ID can be claimed again, the clock
	// is at what was issued before.
	lostBehind = 4 * time.Second
)

// diskLost has a killed daemon's host lose its disk; it starts with its clock behind and no other
// worker ID to be had: it waits for the end of what its record was granted and issues above that.
func diskLost(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	all(ctx, 1000, r.Hosts...)
	r.Step("%s is killed, its disk is lost, and it is started with its clock %v behind", h, lostBehind)
	worker, ceiling := h.killed(ctx)
	h.LoseDisk(ctx)
	h.SetClock(-lostBehind)
	started := evidence.Now()
	h.Start(ctx)
	// It may take so long to start that there is nothing left to wait for: then nobody is refused,
	// and it is right.
	reply := h.Await(ctx, "a refusal or IDs", func(reply evidence.Reply) bool {
		return reply.Outcome == evidence.Refused || reply.Outcome == evidence.Got
	})
	end := h.passes(ceiling)
	r.Step("it says %q, and gives %d IDs; its record was granted to %d, which its clock passes in %v", reply.Text, idsIn(reply), ceiling, time.Duration(end-evidence.Now()).Round(time.Millisecond))
	h.AwaitAnswer(ctx)
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Hosts[1])
		first := res.first(h, started)
		switch tick, got := lowest(r, first); {
		case got != worker:
			res.Fail("the drill is void: there was another worker ID, %d for %d", got, worker)
		case tick <= ceiling:
			res.Fail("tick %d was issued, and the record of worker ID %d was granted to %d before", tick, worker, ceiling)
		}
		// The other way to have never issued an ID twice is to wait for no reason.
		res.within("serving after the end of the old grant", max(0, time.Duration(first.Answered-max(end, started))), time.Second, 2*busy)
	}
}

// lowest is the lowest tick of a reply's IDs, and the worker ID that they are from; -1: none.
func lowest(r *Run, reply evidence.Reply) (tick generator.Tick, worker int) {
	tick, worker = r.Layout.MaxTick(), -1
	for _, run := range reply.IDs {
		if parts := mustGet(r.Layout.Decompose(run.First)); parts.Tick <= tick {
			tick, worker = parts.Tick, int(parts.Worker)
		}
	}
	return tick, worker
}
