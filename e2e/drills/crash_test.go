//go:build e2e

package drills

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

func init() {
	register(
		Drill{
			Name: "kill-behind-5s",
			What: "a daemon is killed and started again with its clock 5 s behind, and another with its clock 1 s behind: " +
				"each serves at once from another worker ID, or within a second of what its own was granted",
			On:      onAll,
			Options: Options{Window: time.Minute},
			Script:  killBehind5s,
			Judge:   judgeKills,
		},
		Drill{
			Name: "kill-behind-1h",
			What: "a daemon is killed and started again with its clock 1 h behind, and twice more: each time it serves at once from another worker ID, or within a second of what its own was granted",
			On:   onAll,
			// A long run takes many ticks before its reply is sent: a kill meets IDs that are
			// issued and get lost.
			Options: Options{Window: time.Minute, Client: []string{"--run-ids=60000", "--runs=40ms"}},
			Script:  killBehind1h,
			Judge:   judgeKills,
		},
		Drill{
			Name:   "rolling-restart",
			What:   "every daemon is stopped, its host's disk is lost, and it is started, one after the other, under load: it has the same worker ID, and no request fails, except for connections refused on its own host meanwhile",
			On:     onAll,
			Script: rollingRestart,
			Judge:  judgeRollingRestart,
		},
		Drill{
			Name:   "stop-start-all",
			What:   "everything is stopped and started again, with the clocks of the hosts 2 s apart: all serve on, and no accepted request was lost",
			Script: stopStartAll,
			Judge:  judgeStopStartAll,
		},
	)
}

// restartAim is how soon a daemon serves that has nothing to wait for, counted from the start of
// its container, and restartAfter the same from the end of a grant where it has to wait for that.
const (
	restartAfter = time.Second
	restartAim   = 2 * restartAfter
)

// restart is a daemon that was killed and started again.
type restart struct {
	host    *Host
	what    string
	started evidence.Mono
	worker  int           // before
	rested  evidence.Mono // when the host's clock passed what that was granted
	first   evidence.Reply
}

var kills notes[[]restart]

// killed kills the daemon, and returns the worker ID that it had and how far that was granted.
func (h *Host) killed(ctx context.Context, r *Run) (worker int, ceiling generator.Tick) {
	had := mustGet(holds(ctx, h))
	must(h.Kill(ctx))
	var last history.Version
	for _, v := range mustGet(r.History(ctx)) {
		if v.Worker == had.worker {
			last = v
		}
	}
	if last.Holder != had.opening {
		fail("the drill is void: worker ID %d of %s is not its own any more: %+v", had.worker, h.Name, last)
	}
	return had.worker, last.Ceiling
}

// killedBehind kills the host's daemon, sets its clock back by behind, and starts it again. It waits
// for the first ID.
func killedBehind(ctx context.Context, r *Run, h *Host, behind time.Duration, what string) {
	seen := kills.of(r)
	now := restart{host: h, what: what}
	must(h.AwaitIDs(ctx, 1000))
	worker, ceiling := h.killed(ctx, r)
	now.worker = worker
	if behind != 0 {
		must(h.SetClock(ctx, h.Offset()-behind))
	}
	must(h.Start(ctx))
	now.started = evidence.Now()
	now.rested = instantOf(r.Layout, h, ceiling+1)
	r.Step("%s was killed and started again, its clock %v off; the end of what worker ID %d was granted is %v away", h.Name, h.Offset(), worker,
		time.Duration(now.rested-now.started).Round(time.Millisecond))
	now.first = mustGet(h.AwaitAnswer(ctx))
	*seen = append(*seen, now)
	r.Step("it serves, %v after the start", time.Duration(now.first.Answered-now.started).Round(time.Millisecond))
}

// instantOf is when the host's clock, set off as it is, gets to a tick.
func instantOf(layout *generator.Layout, h *Host, t generator.Tick) evidence.Mono {
	now, wall := evidence.Now(), time.Now().UnixNano()
	return now + evidence.Mono(layout.UnixNanos(t)-wall-int64(h.Offset()))
}

func killBehind5s(ctx context.Context, r *Run) {
	killedBehind(ctx, r, r.Hosts[0], 5*time.Second, "5s behind")
	killedBehind(ctx, r, r.Hosts[1], time.Second, "1s behind")
	must(all(ctx, r.Hosts, 1000))
}

func killBehind1h(ctx context.Context, r *Run) {
	h := r.Hosts[0]
	for i, behind := range []time.Duration{time.Hour, 0, 0} {
		what := "1h behind"
		if i > 0 {
			what = fmt.Sprintf("the same, kill %d", i+1)
		}
		killedBehind(ctx, r, h, behind, what)
	}
	must(all(ctx, r.Hosts, 1000))
}

func judgeKills(res *Result) {
	for _, now := range *kills.of(res.Run) {
		took := time.Duration(now.first.Answered - now.started)
		switch has := res.Workers(now.host.Index, now.started, now.first.Answered+1); {
		case !slices.Contains(has, now.worker):
			within(res, now.what+": serving from another worker ID after the start", took, restartAim, busy)
		case now.first.Answered < now.rested:
			res.Fail("%s: it serves from worker ID %d again, %v before its clock has passed what that was granted", now.what, now.worker, time.Duration(now.rested-now.first.Answered))
		default:
			within(res, now.what+": serving after the end of the old grant", min(took, time.Duration(now.first.Answered-now.rested)), restartAfter, busy)
		}
	}
	res.Figure("IDs in replies that got lost", fmt.Sprint(res.Verdict.Lost), "", true)
	for i, h := range res.Run.Hosts {
		if !slices.ContainsFunc(*kills.of(res.Run), func(now restart) bool { return now.host == h }) {
			noneFailed(res, i, res.Drill.Began, res.Drill.Ended)
		}
	}
}

// span is an interval in which a host's daemon did not run, when it was started again, and the worker
// ID that it had before.
type span struct {
	from, started, to evidence.Mono
	worker            int
}

var rolled notes[[]span]

func rollingRestart(ctx context.Context, r *Run) {
	seen := rolled.of(r)
	for i, h := range r.Hosts {
		must(all(ctx, r.Hosts, 1000))
		r.Step("%s is stopped, its disk is lost, and it is started again", h.Name)
		*seen = append(*seen, span{worker: mustGet(holds(ctx, h)).worker, from: evidence.Now()})
		must(h.Stop(ctx))
		must(h.LoseDisk(ctx))
		must(h.Start(ctx))
		(*seen)[i].started = evidence.Now()
		first := mustGet(h.AwaitAnswer(ctx))
		(*seen)[i].to = first.Answered
	}
	must(all(ctx, r.Hosts, 1000))
}

func judgeRollingRestart(res *Result) {
	var worst time.Duration
	for i, away := range *rolled.of(res.Run) {
		noneFailed(res, i, res.Drill.Began, away.from)
		noneFailed(res, i, away.to, res.Drill.Ended)
		refusedOnly(res, i, away)
		if len(res.Host(i).Failed(away.from, away.to, evidence.Unsent)) == 0 {
			res.Fail("the drill is void: no connection was refused while the daemon of %s was away", res.Run.Hosts[i].Name)
		}
		if has := answeredFrom(res, i, away.started, away.to); !slices.Equal(has, []int{away.worker}) {
			res.Fail("%s had worker ID %d, and serves from %v after a stop in order", res.Run.Hosts[i].Name, away.worker, has)
		}
		worst = max(worst, time.Duration(away.to-away.started))
	}
	within(res, "longest time from a start to the first ID", worst, restartAim, 2*busy)
}

// refusedOnly fails the drill for each request of host i that failed in another way than that
// nobody listened.
func refusedOnly(res *Result, i int, away span) {
	if failed := res.Host(i).Failed(away.from, away.to, evidence.Lost, evidence.Refused); len(failed) > 0 {
		res.Fail("%s: %d requests were lost or refused by a daemon that was stopped and started in order, the first %v after the stop: outcome %d, %q", res.Run.Hosts[i].Name,
			len(failed), time.Duration(failed[0].Asked-away.from).Round(time.Microsecond), failed[0].Outcome, failed[0].Text)
	}
}

var stopped notes[span]

func stopStartAll(ctx context.Context, r *Run) {
	seen := stopped.of(r)
	must(all(ctx, r.Hosts, 1000))
	r.Step("all daemons are stopped, then all members of the coordinator")
	seen.from = evidence.Now()
	must(Each(r.Hosts, func(h *Host) error { return h.Stop(ctx) }))
	must(r.Members.StopAll(ctx))
	r.Step("the coordinator is started, and the daemons with their clocks 2s apart")
	must(r.Members.StartAll(ctx))
	must(r.Members.AwaitQuorum(ctx))
	must(Each(r.Hosts, func(h *Host) error { return h.SetClock(ctx, time.Duration(h.Index-1)*2*time.Second) }))
	must(Each(r.Hosts, func(h *Host) error { return h.Start(ctx) }))
	seen.started = evidence.Now()
	must(all(ctx, r.Hosts, 1000))
}

func judgeStopStartAll(res *Result) {
	seen := *stopped.of(res.Run)
	var worst time.Duration
	for i, h := range res.Run.Hosts {
		if failed := res.Host(i).Failed(res.Drill.Began, seen.started, evidence.Lost, evidence.Refused); len(failed) > 0 {
			res.Fail("%s: %d requests were lost or refused, the first: outcome %d, %q", h.Name, len(failed), failed[0].Outcome, failed[0].Text)
		}
		first, ok := res.Host(i).First(seen.started)
		if !ok {
			res.Fail("%s serves no more", h.Name)
			continue
		}
		worst = max(worst, time.Duration(first.Answered-seen.started))
	}
	within(res, "serving on all hosts after the start", worst, restartAim, 2*busy)
}
