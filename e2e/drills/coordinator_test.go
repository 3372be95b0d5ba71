//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

func init() {
	register(
		Drill{
			Name:    "leader-killed",
			What:    "the coordinator's leader is killed again and again: no request fails, and grants go on being extended",
			Options: Options{Window: time.Minute},
			Script:  killLeaders,
			Judge: func(res *Result) {
				noneFailedAnywhere(res)
				res.Stall(res.LongestStall(res.Drill.Began, res.Drill.Ended))
				res.Figure("leaders killed", fmt.Sprint(leaders.of(res.Run).killed), "", true)
				res.Figure("longest until all daemons were granted more", leaders.of(res.Run).longest.Round(time.Millisecond).String(), "", true)
			},
		},
		Drill{
			Name: "quorum-lost",
			What: "two of three members are gone for a minute; meanwhile a daemon is killed, and a clock goes back: " +
				"issuing goes on from the grants that there are, and the daemon that was killed waits",
			Options: Options{Window: 2 * time.Minute, Limit: 5 * time.Minute},
			Script:  loseQuorum,
			Judge:   judgeQuorumLost,
		},
		Drill{
			Name:    "coordinator-restarted",
			What:    "all members are killed and come back with their data within the window: no request fails, and grants are extended again",
			Options: Options{Window: time.Minute},
			Script:  restartCoordinator,
			Judge: func(res *Result) {
				noneFailedAnywhere(res)
				res.Stall(res.LongestStall(res.Drill.Began, res.Drill.Ended))
				res.Figure("all daemons were granted more after the members were back", restarts.of(res.Run).back.Round(time.Millisecond).String(), "<= 2s",
					restarts.of(res.Run).back <= 2*time.Second)
			},
		},
	)
}

var leaders notes[struct {
	killed  int
	longest time.Duration
}]

func killLeaders(ctx context.Context, r *Run) {
	seen := leaders.of(r)
	times := 4
	if r.Long {
		times = 8
	}
	for i := range times {
		leader := mustGet(r.Members.Leader(ctx))
		r.Step("killing the leader, %s: %d of %d", leader, i+1, times)
		must(r.Members.Kill(ctx, leader))
		killed := evidence.Now()
		next := mustGet(r.Members.Leader(ctx))
		if next == leader {
			fail("%s leads, and was killed: the drill is void", leader)
		}
		must(granted(ctx, r, r.Hosts...))
		seen.killed++
		seen.longest = max(seen.longest, time.Duration(evidence.Now()-killed))
		r.Step("%s leads, and all daemons were granted more; %s comes back", next, leader)
		must(r.Members.Start(ctx, leader))
	}
	r.Step("the members come to rest")
	must(r.Members.AwaitQuorum(ctx))
	must(all(ctx, r.Hosts, 1000))
}

type outage struct {
	lost, killed, started, returned evidence.Mono
	back                            time.Duration
}

var outages notes[outage]

// outageLasts is the minute that an outage is promised to be survived for, with a window that is
// longer; in the short form it is half of that.
func outageLasts() time.Duration {
	if *once {
		return time.Minute / 2
	}
	return time.Minute
}

// outageMargin is for the members to die and to come back.
const outageMargin = 10 * time.Second

// outlast waits until the grants of the hosts are as long as an outage. They reach as far ahead as
// their daemons are old.
func outlast(ctx context.Context, r *Run, outage time.Duration, hosts ...*Host) error {
	r.Step("waiting for grants of %v", outage)
	return lookUntil(ctx, r, "grants that outlast an outage", func() error {
		for _, h := range hosts {
			if d := h.granted(ctx); d < outage {
				return fmt.Errorf("%s may issue for %v", h.Name, d)
			}
		}
		return nil
	})
}

func loseQuorum(ctx context.Context, r *Run) {
	seen := outages.of(r)
	stays, dies, steps := r.Hosts[0], r.Hosts[1], r.Hosts[2]
	must(outlast(ctx, r, outageLasts()+outageMargin, stays, steps))
	leader := mustGet(r.Members.Leader(ctx))
	gone := []string{leader}
	for _, name := range r.Members.Names() {
		if name != leader && len(gone) < 2 {
			gone = append(gone, name)
		}
	}
	r.Step("killing %s and %s: no quorum", gone[0], gone[1])
	for _, name := range gone {
		must(r.Members.Kill(ctx, name))
	}
	seen.lost = evidence.Now()
	must(awaitUnreachable(ctx, r, r.Hosts...))
	before := mustGet(holds(ctx, stays))
	r.Step("all daemons miss the coordinator; %s is killed and started again", dies.Name)
	seen.killed = evidence.Now()
	must(dies.Kill(ctx))
	seen.started = evidence.Now()
	must(dies.Start(ctx))
	must(lookUntil(ctx, r, dies.Name+" to wait", func() error {
		text, err := dies.Log(ctx)
		if err == nil {
			err = says(dies.Name, text, "waiting for the coordinator")
		}
		return err
	}))
	r.Step("the clock of %s goes back by 150 ms", steps.Name)
	must(backForAWhile(ctx, r, steps))
	r.Step("the rest of the outage")
	must(r.Last(ctx, outageLasts()-time.Duration(evidence.Now()-seen.lost)))
	must(all(ctx, []*Host{stays, steps}, 1000))
	now := mustGet(holds(ctx, stays))
	if now.ceiling != before.ceiling || now.condition == "" {
		fail("%s had a grant to %d and has one to %d, %q: there was a quorum, and the drill is void", stays.Name, before.ceiling, now.ceiling, now.condition)
	}
	seen.returned = evidence.Now()
	r.Step("the members come back")
	for _, name := range gone {
		must(r.Members.Start(ctx, name))
	}
	must(r.Members.AwaitQuorum(ctx))
	quorum := evidence.Now()
	must(granted(ctx, r, r.Hosts...))
	seen.back = time.Duration(evidence.Now() - quorum)
	must(all(ctx, r.Hosts, 1000))
}

// backForAWhile sets a clock back, and right again when the daemon has issued what the last two
// seconds left.
func backForAWhile(ctx context.Context, r *Run, h *Host) error {
	before, err := h.Info(ctx)
	if err != nil {
		return err
	}
	if err := h.SetClock(ctx, -150*time.Millisecond); err != nil {
		return err
	}
	err = lookUntil(ctx, r, "the ring's use", func() error {
		now, err := h.Info(ctx)
		if err == nil && now["answered_ring"] == before["answered_ring"] {
			err = errors.New("it was not used")
		}
		return err
	})
	if err == nil {
		err = h.AwaitIDs(ctx, 10_000)
	}
	return errors.Join(err, h.SetClock(ctx, 0))
}

func judgeQuorumLost(res *Result) {
	seen := outages.of(res.Run)
	noneFailed(res, 0, res.Drill.Began, res.Drill.Ended)
	noneFailed(res, 1, res.Drill.Began, seen.killed)
	noneFailed(res, 2, res.Drill.Began, res.Drill.Ended) // the clock that went back included
	res.Stall(res.Host(0).LongestStall(res.Drill.Began, res.Drill.Ended))
	res.Figure("quorum lost for", time.Duration(seen.returned-seen.lost).Round(time.Second).String(), "", true)
	res.Figure("IDs meanwhile, on all hosts", fmt.Sprint(res.Host(0).IDs(seen.lost, seen.returned)+res.Host(1).IDs(seen.lost, seen.returned)+
		res.Host(2).IDs(seen.lost, seen.returned)), "", true)
	if n := res.Host(1).IDs(seen.started, seen.returned); n > 0 {
		res.Fail("%s was started without a coordinator and gave %d IDs", res.Run.Hosts[1].Name, n)
	}
	res.Figure("all daemons were granted more after the quorum was back", seen.back.Round(time.Millisecond).String(), "<= 2s", seen.back <= 2*time.Second)
}

var restarts notes[outage]

// restartLasts is longer than three members take to come back on a busy machine.
const restartLasts = 25 * time.Second

func restartCoordinator(ctx context.Context, r *Run) {
	must(outlast(ctx, r, restartLasts, r.Hosts...))
	r.Step("killing all members")
	must(r.Members.KillAll(ctx))
	must(awaitUnreachable(ctx, r, r.Hosts...))
	must(all(ctx, r.Hosts, 1000))
	r.Step("all daemons miss the coordinator and issue; the members come back with their data")
	must(r.Members.StartAll(ctx))
	must(r.Members.AwaitQuorum(ctx))
	quorum := evidence.Now()
	r.Step("the members have a quorum")
	must(granted(ctx, r, r.Hosts...))
	restarts.of(r).back = time.Duration(evidence.Now() - quorum)
	must(all(ctx, r.Hosts, 1000))
}
