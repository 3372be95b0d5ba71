//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// zombieWindow leaves some of the grant when the one that sleeps is resumed: its session has ended
// by then, and another has its worker ID.
const zombieWindow = 8 * time.Second

func init() {
	register(Drill{
		Name: "zombie",
		What: "a daemon is paused for longer than its session, another takes its worker ID and issues from it, and the first is resumed: " +
			"it issues to the end of its own grant, not beyond, and then from the next worker ID that is free",
		Options: Options{
			Layout: "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01", // two worker IDs for three daemons
			Ready:  2,
			Window: zombieWindow, MaxBlock: 500 * time.Millisecond,
			Daemon: []string{"--trust-clock"}, // the successor's is ahead by the window
		},
		Script: zombie,
		Judge:  judgeZombie,
	})
}

// walking is the drill of a daemon that slept. All instants are in order.
type walking struct {
	sleeper, successor, other                *Host
	had, taken                               held
	resumed, ended, refused, outlived, freed evidence.Mono // ended: of its grant
	next                                     int           // the worker ID that was freed
}

var zombies notes[walking]

func zombie(ctx context.Context, r *Run) {
	seen := zombies.of(r)
	must(seen.cast(ctx, r))
	sleeper, successor, other := seen.sleeper, seen.successor, seen.other
	// Otherwise the successor would have to wait for the end of the grant before it. So both issue
	// at once.
	r.Step("%s waits for a worker ID; its clock goes ahead by the window", successor.Name)
	must(successor.SetClock(ctx, zombieWindow))
	must(all(ctx, []*Host{sleeper, other}, 1000))
	seen.had = mustGet(holds(ctx, sleeper))
	r.Step("pausing %s, which holds worker ID %d by opening %s", sleeper.Name, seen.had.worker, seen.had.opening)
	must(sleeper.Pause(ctx))
	must(lookUntil(ctx, r, "a successor", func() (err error) {
		seen.taken, err = holds(ctx, successor)
		if err == nil && (seen.taken.worker != seen.had.worker || !seen.taken.claimed) {
			err = fmt.Errorf("%s holds worker ID %d: %q", successor.Name, seen.taken.worker, seen.taken.condition)
		}
		return err
	}))
	must(successor.AwaitIDs(ctx, 1000))
	r.Step("%s holds worker ID %d, by opening %s, and issues above %d; resuming %s", successor.Name, seen.taken.worker, seen.taken.opening, seen.taken.floor, sleeper.Name)
	seen.resumed = evidence.Now()
	must(sleeper.Resume(ctx))
	first := mustGet(sleeper.AwaitAnswer(ctx))
	r.Step("%s issues, %v after it was resumed", sleeper.Name, time.Duration(first.Answered-seen.resumed).Round(time.Millisecond))
	refusal := mustGet(refusalThat(ctx, sleeper, "since ", "2 held of 2"))
	seen.ended, seen.refused = refusal.Asked, refusal.Answered
	r.Step("its grant has ended, and it says: %s", refusal.Text)
	must(sleeper.AwaitNone(ctx, 500*time.Millisecond))
	seen.outlived = evidence.Now()
	must(successor.AwaitIDs(ctx, 1000))
	held := mustGet(holds(ctx, other))
	seen.next = held.worker
	r.Step("%s, which holds worker ID %d, is stopped", other.Name, seen.next)
	seen.freed = evidence.Now()
	must(other.Stop(ctx))
	mustGet(sleeper.AwaitAnswer(ctx))
	r.Step("%s serves again", sleeper.Name)
	must(all(ctx, []*Host{sleeper, successor}, 1000))
}

// cast gives the parts: the one that found no worker ID is the successor.
func (s *walking) cast(ctx context.Context, r *Run) error {
	return lookUntil(ctx, r, "two daemons that hold a worker ID and one that has none", func() error {
		s.sleeper, s.other, s.successor = nil, nil, nil
		for _, h := range r.Hosts {
			now, err := holds(ctx, h)
			switch {
			case err != nil:
				return err
			case now.worker < 0:
				s.successor = h
			case s.sleeper == nil:
				s.sleeper = h
			default:
				s.other = h
			}
		}
		if s.sleeper == nil || s.other == nil || s.successor == nil {
			return errors.New("not so yet")
		}
		return nil
	})
}

func judgeZombie(res *Result) {
	seen := zombies.of(res.Run)
	sleeper, successor := res.Host(seen.sleeper.Index), res.Host(seen.successor.Index)
	noneFailed(res, seen.other.Index, res.Drill.Began, seen.freed)

	// The coordinator itself has to say that the worker ID changed hands, after the last grant to
	// the one that slept.
	last, taken := -1, -1
	for i, v := range res.History {
		switch {
		case v.Worker == seen.had.worker && v.Holder == seen.had.opening:
			last = i
		case v.Worker == seen.had.worker && v.Holder == seen.taken.opening && taken < 0:
			taken = i
		}
	}
	if last < 0 || taken < last {
		res.Fail("the drill is void: worker ID %d was held by opening %s up to version %d and by %s from version %d of its history", seen.had.worker,
			seen.had.opening, last, seen.taken.opening, taken)
	}

	first, ok := sleeper.First(seen.resumed)
	if !ok {
		res.Fail("%s issued nothing after it was resumed", seen.sleeper.Name)
		return
	}
	took := time.Duration(first.Answered - seen.resumed)
	within(res, "the first ID after the resume", took, time.Second, 5*time.Second)
	for _, reply := range sleeper.Failed(res.Drill.Began, seen.ended) {
		if reply.Answered < seen.ended {
			res.Fail("%s failed a request before its grant had ended: outcome %d, %q", seen.sleeper.Name, reply.Outcome, reply.Text)
			break
		}
	}
	own := sleeper.IDs(seen.resumed, seen.refused)
	res.Figure("IDs from its own grant, while another held the worker ID", fmt.Sprint(own), "", true)
	if own < 100 || successor.IDs(seen.resumed, seen.refused) < 100 {
		res.Fail("the drill is void: %d IDs of the one that slept and %d of its successor while both issued from worker ID %d", own,
			successor.IDs(seen.resumed, seen.refused), seen.had.worker)
	}
	for i, h := range []*Host{seen.sleeper, seen.successor} {
		if got := answeredFrom(res, h.Index, seen.resumed, seen.outlived); !slices.Equal(got, []int{seen.had.worker}) {
			res.Fail("%s, number %d to have worker ID %d, issued from worker IDs %v", h.Name, i+1, seen.had.worker, got)
		}
	}
	if n := sleeper.IDs(seen.outlived, seen.freed); n > 0 {
		res.Fail("%s issued %d IDs with no worker ID", seen.sleeper.Name, n)
	}
	next, ok := sleeper.First(seen.freed)
	if !ok {
		res.Fail("%s issued nothing after worker ID %d was free", seen.sleeper.Name, seen.next)
		return
	}
	if got := answeredFrom(res, seen.sleeper.Index, seen.freed, res.Drill.Ended); !slices.Equal(got, []int{seen.next}) {
		res.Fail("%s issued from worker IDs %v, and %d was free", seen.sleeper.Name, got, seen.next)
	}
	took = time.Duration(next.Answered - seen.freed)
	res.Recovered(took)
	within(res, "IDs from the worker ID that was freed", took, 2*time.Second, 10*time.Second)
}
