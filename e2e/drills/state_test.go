//go:build e2e

package drills

import (
	"context"
	"errors"
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
			Name: "disk-full",
			What: "the disk under a journal is filled under load: issuing goes on, and a daemon that is killed goes on from its journal; " +
				"one that has lost its journal says why it does not serve, and does when there is room again",
			Options: Options{SmallState: true, MaxBlock: 500 * time.Millisecond},
			Script:  diskFull,
			Judge:   judgeDiskFull,
		},
		Drill{
			Name: "state-lost",
			What: "a daemon is killed, its state is lost, and it starts with its clock behind and no other worker ID to be had: " +
				"it waits for the end of what its record was granted and issues above that",
			// As many worker IDs as daemons, so that it has to be the same again.
			Options: Options{Hosts: 2, Layout: "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01", Window: lostWindow, MaxBlock: time.Second},
			Script:  stateLost,
			Judge:   judgeStateLost,
		},
		Drill{
			Name:   "state-old",
			What:   "an old copy of a daemon's state is put back and its clock is behind: the journal is taken for a copy, and another worker ID serves",
			Script: stateOld,
			Judge:  judgeStateOld,
		},
	)
}

// fullness is one host's disk that was full.
type fullness struct {
	full, killed     evidence.Mono
	restarted, again evidence.Mono // on the journal that it had
	lost             evidence.Mono // and killed
	freed, served    evidence.Mono
	worker           int
}

var fullnesses notes[fullness]

// fullSteps is how often a journal is written at least on a disk that is full.
const fullSteps = 4

func diskFull(ctx context.Context, r *Run) {
	seen, h := fullnesses.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	r.Step("the disk of %s is filled", h.Name)
	must(h.FillState(ctx))
	seen.full = evidence.Now()
	r.marksMove(ctx, h, fullSteps)
	now := mustGet(holds(ctx, h))
	seen.worker = now.worker
	r.Step("it goes on; it is killed, and started again")
	seen.killed = evidence.Now()
	must(h.Kill(ctx))
	must(h.Start(ctx))
	seen.restarted = evidence.Now()
	first := mustGet(h.AwaitAnswer(ctx))
	seen.again = first.Answered
	r.marksMove(ctx, h, 1)
	r.Step("it is killed, its journal is lost, the disk is filled by others, and it is started")
	seen.lost = evidence.Now()
	must(h.Kill(ctx))
	must(errors.Join(h.LoseState(ctx), h.FillState(ctx)))
	must(h.Start(ctx))
	refusal := mustGet(refusalThat(ctx, h, "UNAVAILABLE since ", "no space left", "free space"))
	r.Step("it says: %s", refusal.Text)
	must(h.AwaitNone(ctx, 300*time.Millisecond))
	r.Step("there is room again")
	seen.freed = evidence.Now()
	must(h.FreeState(ctx))
	first = mustGet(h.AwaitAnswer(ctx))
	seen.served = first.Answered
	must(all(ctx, r.Hosts, 1000))
}

// marksMove waits until the mark in a host's journal has been moved on so many times.
func (r *Run) marksMove(ctx context.Context, h *Host, times int) {
	last, moved := "", -1
	must(lookUntil(ctx, r, fmt.Sprintf("%s to move its mark %d times", h.Name, times), func() error {
		info, err := h.Info(ctx)
		if err != nil {
			return err
		}
		if info["state"] != "ready" {
			return fmt.Errorf("it is %q: %s", info["state"], info["condition"])
		}
		if mark := info["journal_mark"]; mark != last {
			last = mark
			moved++
		}
		if moved < times {
			return fmt.Errorf("it was moved %d times, to %s", moved, last)
		}
		return nil
	}))
}

func judgeDiskFull(res *Result) {
	seen := fullnesses.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	noneFailed(res, 0, res.Drill.Began, seen.full)
	// A request that is on its way when the daemon is killed is none that was refused.
	if failed := res.Host(0).Failed(seen.full, seen.killed, evidence.Refused); len(failed) > 0 {
		res.Fail("%d requests were refused on a full disk, the first with %q", len(failed), failed[0].Text)
	}
	stalled(res, "longest stall with a full disk", res.Host(0).LongestStall, seen.full, seen.killed, stallAim, fullLongest)
	if has := answeredFrom(res, 0, seen.restarted, seen.lost); !slices.Equal(has, []int{seen.worker}) {
		res.Fail("it had worker ID %d, and after a kill on a full disk it served from %v", seen.worker, has)
	}
	within(res, "serving after a kill on a full disk", time.Duration(seen.again-seen.restarted), restartAim, 2*busy)
	took := time.Duration(seen.served - seen.freed)
	res.Recovered(took)
	within(res, "serving without a journal with room on the disk after", took, time.Second, busy)
}

// A disk that is full costs no stall. What a busy machine does is far below what it took to wait
// for room.
const (
	stallAim    = 100 * time.Millisecond
	fullLongest = time.Second
)

// loss is one host's state that was lost, or replaced by an older one.
type loss struct {
	worker  int
	started evidence.Mono
	ceiling generator.Tick // of its record, when it was dead
}

var losses notes[loss]

const (
	lostWindow = 5 * time.Second
	// lostBehind is more than a session lasts: when the worker ID can be claimed again, the clock
	// is at what was issued before.
	lostBehind = 4 * time.Second
)

func stateLost(ctx context.Context, r *Run) {
	seen, h := losses.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	r.Step("%s is killed, its state is lost, and it is started with its clock %v behind", h.Name, lostBehind)
	must(seen.kill(ctx, r, h))
	must(h.LoseState(ctx))
	must(h.SetClock(ctx, -lostBehind))
	seen.started = evidence.Now()
	must(h.Start(ctx))
	// It may take so long to start that there is nothing left to wait for: then nobody is refused,
	// and it is right.
	reply, err := h.Await(ctx, func(reply evidence.Reply) bool {
		return reply.Outcome == evidence.Refused || reply.Outcome == evidence.Got
	})
	if err != nil {
		must(h.vain(err, "a refusal or IDs"))
	}
	if reply.Outcome == evidence.Refused {
		r.Step("it says: %s", reply.Text)
	} else {
		r.Step("it gave IDs and refused nobody")
	}
	wait := time.Duration(instantOf(r.Layout, h, seen.ceiling) - evidence.Now()).Round(time.Millisecond)
	r.Step("its record was granted to %d, which its clock passes in %v", seen.ceiling, wait)
	mustGet(h.AwaitAnswer(ctx))
	must(all(ctx, r.Hosts, 1000))
}

// kill kills the host's daemon, and notes how far its record was granted.
func (l *loss) kill(ctx context.Context, r *Run, h *Host) error {
	if err := h.Kill(ctx); err != nil {
		return err
	}
	entry, err := lastEntry(ctx, h)
	if err != nil {
		return err
	}
	l.worker = entry.Worker
	versions, err := r.History(ctx)
	if err != nil {
		return err
	}
	record, ok := newest(versions, l.worker)
	if !ok || record.Holder != entry.Opening {
		return fmt.Errorf("the drill is void: worker ID %d of %s is not its own any more: %+v", l.worker, h.Name, record)
	}
	l.ceiling = record.Ceiling
	return nil
}

// newest is the last version of a worker ID's record.
func newest(versions []history.Version, worker int) (last history.Version, ok bool) {
	for _, v := range versions {
		if v.Worker == worker {
			last, ok = v, true
		}
	}
	return last, ok
}

// lowest is the lowest tick of a reply's IDs, and the worker ID that they are from.
func lowest(r *Run, reply evidence.Reply) (generator.Tick, int, error) {
	if len(reply.IDs) == 0 {
		return 0, 0, errors.New("a reply without IDs")
	}
	tick, worker := r.Layout.MaxTick(), 0
	for _, run := range reply.IDs {
		parts, err := r.Layout.Decompose(run.First)
		if err != nil {
			return 0, 0, err
		}
		if parts.Tick <= tick {
			tick, worker = parts.Tick, int(parts.Worker)
		}
	}
	return tick, worker, nil
}

func judgeStateLost(res *Result) {
	seen := losses.of(res.Run)
	noneFailed(res, 1, res.Drill.Began, res.Drill.Ended)
	first, _ := res.Host(0).First(seen.started)
	tick, worker, err := lowest(res.Run, first)
	switch {
	case err != nil:
		res.Fail("%v", err)
	case worker != seen.worker:
		res.Fail("the drill is void: there was another worker ID, %d for %d", worker, seen.worker)
	case tick <= seen.ceiling:
		res.Fail("tick %d was issued, and the record of worker ID %d was granted to %d before", tick, worker, seen.ceiling)
	}
	// The other way to have never issued an ID twice is to wait for no reason.
	end := instantOf(res.Run.Layout, res.Run.Hosts[0], seen.ceiling+1)
	refused := res.Host(0).Failed(seen.started, first.Asked, evidence.Refused)
	res.Figure("requests refused until then", fmt.Sprint(len(refused)), ">= 1", len(refused) > 0)
	within(res, "serving after the end of the old grant", max(0, time.Duration(first.Answered-max(end, seen.started))), time.Second, 2*busy)
}

// oldBehind has the clock of a daemon that gets an old journal ahead of that journal's mark and
// behind what was issued since.
const (
	oldFor    = 3500 * time.Millisecond
	oldBehind = 2500 * time.Millisecond
)

func stateOld(ctx context.Context, r *Run) {
	seen, h := losses.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	saved := mustGet(h.SaveState())
	r.Step("the state of %s was saved; the daemon goes on for longer than a publish", h.Name)
	must(r.Last(ctx, oldFor))
	r.Step("it is killed, the old state is put back, and it is started with its clock %v behind", oldBehind)
	must(seen.kill(ctx, r, h))
	issued := mustGet(lastEntry(ctx, h))
	must(h.PutBack(ctx, saved))
	old := mustGet(lastEntry(ctx, h))
	if old.Opening != issued.Opening || old.Mark >= issued.Mark {
		fail("the drill is void: the journal that was put back is %+v, and the last one was %+v", old, issued)
	}
	must(h.SetClock(ctx, -oldBehind))
	seen.started = evidence.Now()
	must(h.Start(ctx))
	must(h.AwaitLog(ctx, movedText))
	r.Step("it refuses the journal")
	mustGet(h.AwaitAnswer(ctx))
	must(all(ctx, r.Hosts, 1000))
}

func judgeStateOld(res *Result) {
	seen := losses.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	first, _ := res.Host(0).First(seen.started)
	tick, worker, err := lowest(res.Run, first)
	if err != nil {
		res.Fail("%v", err)
		return
	}
	if worker == seen.worker {
		res.Fail("tick %d was issued from worker ID %d on the word of a copy of its journal; its record was granted to %d before", tick, worker, seen.ceiling)
	}
	within(res, "serving after the start", time.Duration(first.Answered-seen.started), restartAim, 2*busy)
}
