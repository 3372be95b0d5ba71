//go:build e2e

package drills

import (
	"context"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// killLeaders kills the coordinator's leader again and again: no request fails, and grants go on
// being extended.
func killLeaders(ctx context.Context, r *Run) func(*Result) {
	times := 4
	if r.Long {
		times = 8
	}
	for i := range times {
		leader := r.Members.Leader(ctx)
		r.Step("killing the leader, %s: %d of %d", leader, i+1, times)
		leader.Kill(ctx)
		next := r.Members.Leader(ctx)
		granted(ctx, r, r.Hosts...)
		r.Step("%s leads, and all daemons were granted more; %s comes back", next, leader)
		leader.Start(ctx)
	}
	r.Step("the members come to rest")
	r.Members.AwaitQuorum(ctx)
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) { res.neverFailed(r.Hosts...) }
}

// outlast waits until the grants of the hosts are as long as an outage. They reach as far ahead as
// their daemons are old.
func outlast(ctx context.Context, r *Run, outage time.Duration, hosts ...*Host) {
	r.Step("waiting for grants of %v", outage)
	for _, h := range hosts {
		until(ctx, func() {
			if d := h.granted(ctx); d < outage {
				fail("it may issue for %v", d)
			}
		}, "a grant of %s that outlasts an outage", h)
	}
}

// outageMargin is for the members to die and to come back.
const outageMargin = 10 * time.Second

// loseQuorum has two of three members gone for a minute, or half of it in the short form; meanwhile
// a daemon is killed, and a clock goes back: issuing goes on from the grants that there are, and
// the daemon that was killed waits.
func loseQuorum(ctx context.Context, r *Run) func(*Result) {
	lasts := time.Minute
	if *once {
		lasts /= 2
	}
	stays, dies, steps := r.Hosts[0], r.Hosts[1], r.Hosts[2]
	outlast(ctx, r, lasts+outageMargin, stays, steps)
	leader := r.Members.Leader(ctx)
	at := slices.Index(r.Members.all, leader)
	gone := []*box{leader, r.Members.all[(at+1)%memberCount]}
	r.Step("killing %v: no quorum", gone)
	for _, member := range gone {
		member.Kill(ctx)
	}
	lost := evidence.Now()
	awaitUnreachable(ctx, r.Hosts...)
	before := stays.holds(ctx)
	r.Step("all daemons miss the coordinator; %s is killed and started again", dies)
	said := dies.Log(ctx)
	killed, started := killAndStart(ctx, dies)
	dies.logs(ctx, said, "waiting for the coordinator")
	r.Step("the clock of %s goes back by 150 ms", steps)
	ring := steps.number(ctx, "answered_ring")
	steps.SetClock(-150 * time.Millisecond)
	until(ctx, func() {
		if steps.number(ctx, "answered_ring") == ring {
			fail("it was not used")
		}
	}, "the ring's use")
	steps.AwaitIDs(ctx, 10_000) // what the last two seconds left
	steps.SetClock(0)
	r.Step("the rest of the outage")
	last(ctx, lasts-time.Duration(evidence.Now()-lost))
	all(ctx, 1000, stays, steps)
	if now := stays.holds(ctx); now.ceiling != before.ceiling || now.condition == "" {
		fail("%s had a grant to %d and has one to %d, %q: there was a quorum, and the drill is void", stays, before.ceiling, now.ceiling, now.condition)
	}
	returned := evidence.Now()
	r.Step("the members come back")
	back := grantedAgain(ctx, r)
	return func(res *Result) {
		res.neverFailed(stays, steps) // the clock that went back included
		res.noneFailed(res.Began, killed, dies)
		if n := dies.Replies.IDs(started, returned); n > 0 {
			res.Fail("%s was started without a coordinator and gave %d IDs", dies, n)
		}
		back(res)
	}
}

// grantedAgain starts the members, and waits until all daemons have been granted more.
func grantedAgain(ctx context.Context, r *Run) func(*Result) {
	r.Members.StartAll(ctx)
	r.Members.AwaitQuorum(ctx)
	quorum := evidence.Now()
	r.Step("the members have a quorum")
	granted(ctx, r, r.Hosts...)
	took := time.Duration(evidence.Now() - quorum)
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.within("all daemons were granted more after the quorum was back", took, 2*time.Second, time.Minute)
	}
}

// restartLasts is longer than three members take to come back on a busy machine.
const restartLasts = 25 * time.Second

// restartCoordinator kills all members, which come back with their data within the window: no
// request fails, and grants are extended again.
func restartCoordinator(ctx context.Context, r *Run) func(*Result) {
	outlast(ctx, r, restartLasts, r.Hosts...)
	r.Step("killing all members")
	r.Members.KillAll(ctx)
	awaitUnreachable(ctx, r.Hosts...)
	all(ctx, 1000, r.Hosts...)
	r.Step("all daemons miss the coordinator and issue; the members come back with their data")
	back := grantedAgain(ctx, r)
	return func(res *Result) {
		res.neverFailed(r.Hosts...)
		back(res)
	}
}

// restored puts the coordinator back from a backup of before some of the grants, and raises the
// cluster's floor as docs/coordination.md says: each daemon says what to do, stops at the end of
// its grant, and once it is started again issues above the floor.
func restored(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	all(ctx, 1000, r.Hosts...)
	r.Step("the members are stopped, and backed up")
	backup := r.Members.Backup(ctx)
	granted(ctx, r, r.Hosts...)
	killAndStart(ctx, h) // the backup knows nothing of the worker ID that it gets now
	h.AwaitAnswer(ctx)
	granted(ctx, r, r.Hosts...)
	r.Step("the members are put back from the backup")
	r.Members.Lose(ctx, backup)
	each(r.Hosts, func(h *Host) {
		until(ctx, func() { says(h.Name, h.holds(ctx).condition, "cluster raise") }, "%s to say what to do", h)
	})
	to := r.Layout.TickAt(time.Now().Add(r.options.Window + 4*time.Second).UnixNano())
	r.Step("all daemons say that it was restored; the floor is raised to %d", to)
	r.Members.Raise(ctx, to)
	each(r.Hosts, func(h *Host) {
		h.AwaitRefusal(ctx, "since ", "cluster raise")
		h.Stop(ctx)
		h.Start(ctx)
		if tick, _ := lowest(r, h.AwaitAnswer(ctx)); tick <= to {
			fail("%s issued tick %d, after its grant had ended and the floor was raised to %d", h, tick, to)
		}
	})
	r.Step("all issue above the floor")
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		if len(res.Past) != 1 || len(res.Past[0]) == 0 || len(res.History) == 0 {
			res.Fail("the drill is void: %d histories of before the restore, %d versions after it", len(res.Past), len(res.History))
		}
	}
}

// wipedWindow is short enough to wait for the end of the grants: until then daemons may issue IDs
// of the old cluster.
const wipedWindow = 8 * time.Second

// wipe has the coordinator lose all its data under running daemons: each ends with status 2 and
// says why; started again, each waits, says the command that makes a cluster, and makes none; in
// the cluster that is made then, no ID is as low as one of before.
func wipe(ctx context.Context, r *Run) func(*Result) {
	had := r.Hosts[0].holds(ctx)
	r.Step("wiping the coordinator of cluster %s", had.cluster)
	emptied := evidence.Now()
	r.Members.Lose(ctx, "")
	returned := evidence.Now()
	r.Step("the members are back, with nothing; waiting for all daemons to end")
	stopped := make([]evidence.Mono, len(r.Hosts))
	each(r.Hosts, func(h *Host) {
		until(ctx, func() {
			if s := h.state(ctx); s.Running || s.Status != 2 {
				fail("it runs, or has ended with another status: %+v", s)
			}
		}, "%s to end with status 2", h)
		stopped[h.Index] = evidence.Now()
		before := h.Log(ctx)
		says(h.Name, before, "was wiped or replaced")
		h.Start(ctx)
		h.logs(ctx, before, "no-cluster", "flakeward cluster create")
	})
	r.Step("all have ended, were started again, and wait for a cluster")
	last(ctx, wipedWindow-time.Duration(evidence.Now()-emptied))
	r.Step("the grants of before have ended; the cluster is made")
	made := evidence.Now()
	r.Hosts[0].operate(ctx, "cluster", "create", "--timeout", "1m", "--empty") // who has ended cannot
	all(ctx, 1000, r.Hosts...)
	cluster := r.Hosts[0].holds(ctx).cluster
	for _, h := range r.Hosts {
		if now := h.holds(ctx).cluster; now == had.cluster || now != cluster {
			fail("%s is in cluster %s, another in %s, and before they were in %s", h, now, cluster, had.cluster)
		}
	}
	return func(res *Result) {
		if len(res.Past) != 1 || len(res.Past[0]) == 0 || len(res.History) == 0 {
			res.Fail("the drill is void: %d histories of before the wipe, %d versions after it", len(res.Past), len(res.History))
		}
		highest, lowest := generator.Tick(0), r.Layout.MaxTick()
		for i, h := range r.Hosts {
			res.within("it had ended after the members were back", time.Duration(stopped[i]-returned), time.Second, time.Minute)
			if first, found := h.Replies.First(stopped[i]); found && first.Answered < made {
				res.Fail("%s issued %d IDs after it had ended, and before there was a cluster", h, idsIn(first))
			}
			for _, reply := range h.Replies {
				for _, run := range reply.IDs {
					p := mustGet(r.Layout.Decompose(run.First))
					if reply.Answered < made {
						highest = max(highest, p.Tick)
					} else {
						lowest = min(lowest, p.Tick)
					}
				}
			}
		}
		if lowest <= highest {
			res.Fail("the new cluster issued an ID of tick %d, and the old one of %d", lowest, highest)
		}
	}
}
