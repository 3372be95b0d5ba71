//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
)

func init() {
	register(
		Drill{
			Name:    "two-daemons",
			What:    "a second daemon is started on the socket of one that runs: it is refused with a clear error, and the first is not disturbed",
			Options: Options{Hosts: 2, Shared: true, Ready: 1},
			Script:  twoDaemons,
			Judge:   judgeTwoDaemons,
		},
		Drill{
			Name:    "more-daemons",
			What:    "there are more daemons than worker IDs: one waits with a clear error, and serves within 2 s after another was stopped",
			Options: Options{Layout: "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01", Ready: 2, MaxBlock: time.Second},
			On:      onAll,
			Script:  moreDaemons,
			Judge:   judgeMoreDaemons,
		},
		Drill{
			Name: "passed-on",
			What: "a worker ID goes straight from one daemon to another whose clock is behind, while the first is still taking numbers from it: " +
				"those that it takes too late are thrown away",
			Options: Options{
				Layout:   "time=41@1ms,worker=2,sequence=20;epoch=2026-01-01", // three are held, so that the one that is left is known
				MaxBlock: 2 * passedBehind,
				// The one whose clock is behind takes this one, and waits for what was issued from it.
				Env:    map[string]string{fault.HoldTakes: "300/1s", "FLAKEWARD_RESTART_WAIT": (2 * passedBehind).String()},
				Client: []string{"--single=1ms", "--pipelined=0", "--batch=0", "--runs=0"}, // a tick for each request
			},
			Script: passedOn,
			Judge:  judgePassedOn,
		},
	)
}

// rivals are two daemons that want the same.
type rivals struct {
	first, second *Host
	worker        int
}

var rivalries notes[rivals]

func twoDaemons(ctx context.Context, r *Run) {
	seen := rivalries.of(r)
	must(lookUntil(ctx, r, "one of two daemons to end", func() error {
		for _, h := range r.Hosts {
			running, _, err := h.Running(ctx)
			if err != nil {
				return err
			}
			if !running {
				seen.second, seen.first = h, r.Others(h)[0]
				return nil
			}
		}
		return errors.New("both run")
	}))
	now := mustGet(holds(ctx, seen.first))
	seen.worker = now.worker
	for range 3 {
		r.Step("the daemon of %s runs, with worker ID %d; that of %s is started again", seen.first.Name, seen.worker, seen.second.Name)
		must(seen.first.AwaitIDs(ctx, 1000))
		end := r.Fault("a second daemon", seen.second)
		err := seen.refuse(ctx, r)
		end()
		must(err)
	}
	must(seen.first.AwaitIDs(ctx, 1000))
}

// refuse starts the second daemon, which must end with an error that says what it met.
func (s *rivals) refuse(ctx context.Context, r *Run) error {
	before, err := s.second.Log(ctx)
	if err != nil {
		return err
	}
	if err := s.second.Start(ctx); err != nil {
		return err
	}
	return lookUntil(ctx, r, "the end of the second daemon", func() error {
		running, status, err := s.second.Running(ctx)
		switch {
		case err != nil:
			return err
		case running:
			return errors.New("it runs")
		case status == 0:
			return errors.New("it ended as if nothing were wrong")
		}
		text, err := s.second.Log(ctx)
		if err != nil {
			return err
		}
		return says(s.second.Name, text[len(before):], "the socket", "is in use by another process", "choose another path")
	})
}

func judgeTwoDaemons(res *Result) {
	seen := rivalries.of(res.Run)
	noneFailedAnywhere(res) // both hosts' clients ask the one daemon
	for i := range res.Run.Hosts {
		if got := res.Workers(i, res.Drill.Began, res.Drill.Ended); !slices.Equal(got, []int{seen.worker}) {
			res.Fail("worker IDs %v were issued from, and the first daemon has %d", got, seen.worker)
		}
	}
	at := res.Faults("a second daemon")
	if len(at) > 0 {
		res.Figure("longest stall while others started", res.LongestStall(at[0].At, at[len(at)-1].Until).Round(100*time.Microsecond).String(), "", true)
	}
}

// passing is a worker ID that changed hands.
type passing struct {
	from, to      *Host
	worker        int
	freed, served evidence.Mono
}

var passings notes[[]passing]

func moreDaemons(ctx context.Context, r *Run) {
	seen := passings.of(r)
	var cast walking
	must(cast.cast(ctx, r))
	waits, serve := cast.successor, []*Host{cast.sleeper, cast.other}
	for range 3 {
		refusal := mustGet(refusalThat(ctx, waits, "since ", "all worker IDs are taken: 2 held of 2"))
		r.Step("%s waits, and says: %s", waits.Name, refusal.Text)
		must(all(ctx, serve, 1000))
		stops := serve[0]
		had := mustGet(holds(ctx, stops))
		r.Step("%s is stopped, which has worker ID %d", stops.Name, had.worker)
		must(stops.Stop(ctx))
		now := passing{from: stops, to: waits, worker: had.worker, freed: evidence.Now()}
		first := mustGet(waits.AwaitAnswer(ctx))
		now.served = first.Answered
		*seen = append(*seen, now)
		r.Step("%s serves, and %s is started again", waits.Name, stops.Name)
		must(stops.Start(ctx))
		waits, serve = stops, []*Host{serve[1], waits}
	}
	must(all(ctx, serve, 1000))
}

func judgeMoreDaemons(res *Result) {
	var worst time.Duration
	for _, now := range *passings.of(res.Run) {
		if got := res.Workers(now.to.Index, now.freed, now.served+1); !slices.Equal(got, []int{now.worker}) {
			res.Fail("%s gave back worker ID %d, and %s issued from %v", now.from.Name, now.worker, now.to.Name, got)
		}
		worst = max(worst, time.Duration(now.served-now.freed))
	}
	res.Recovered(worst)
	within(res, "serving after another was stopped, longest", worst, 2*time.Second, 2*busy)
}

const (
	// passedBehind is more than a ring remembers, and than that and the time for which a number is
	// held: a daemon whose clock goes back by it takes another worker ID.
	passedBehind = 3500 * time.Millisecond
	// passedQuiet without an ID means that a number is being held, and not that the machine was
	// busy; usually there are several in a millisecond. Its lane is then closed while there is
	// passedHeld left of the second, at the least.
	passedQuiet = 250 * time.Millisecond
	passedHeld  = 80 * time.Millisecond
)

func passedOn(ctx context.Context, r *Run) {
	seen, from, to := passings.of(r), r.Hosts[0], r.Hosts[1]
	must(all(ctx, r.Hosts, 200))
	had := mustGet(holds(ctx, from))
	must(from.AwaitNone(ctx, passedQuiet))
	now := passing{from: from, to: to, worker: had.worker}
	must(from.SetClock(ctx, -passedBehind))
	r.Step("%s holds worker ID %d, and a number that is being taken from it; its clock goes back, so that it takes another worker ID", from.Name, had.worker)
	must(from.AwaitLog(ctx, "left a worker ID"))
	now.freed = evidence.Now()
	r.Step("worker ID %d is free; the clock of %s goes back by %v, so that it takes that", had.worker, to.Name, passedBehind)
	must(to.SetClock(ctx, -passedBehind))
	first, err := to.Await(ctx, func(reply evidence.Reply) bool {
		_, worker, err := lowest(r, reply)
		return err == nil && worker == had.worker
	})
	if err != nil {
		fail("IDs of %s from worker ID %d: %w", to.Name, had.worker, err)
	}
	now.served = first.Answered
	*seen = append(*seen, now)
	r.Step("%s issues from it", to.Name)
	must(all(ctx, r.Hosts, 200))
}

func judgePassedOn(res *Result) {
	for _, now := range *passings.of(res.Run) {
		late, err := lateness(now.from, now.worker)
		if err != nil {
			res.Fail("%v", err)
			continue
		}
		res.Figure("a number was still held after its lane was closed, for", late.Round(time.Millisecond).String(), "", true)
		if late < passedHeld {
			res.Fail("the drill is void: %s issued again %v after it had closed the lane of worker ID %d: no number was being taken", now.from.Name, late, now.worker)
		}
		var back, taken bool
		var last generator.Tick
		for _, v := range res.History {
			if v.Worker != now.worker {
				continue
			}
			back = back || v.Ceiling < last
			taken = taken || back && v.Holder != "" && v.Ceiling > last
			last = v.Ceiling
		}
		if !back || !taken {
			res.Fail("the drill is void: the record of worker ID %d was not given back and then taken", now.worker)
		}
	}
}

// lateness is how long after it had closed its lane of a worker ID a daemon, which does one thing
// after the other, issued again: for so long at the least it was in the middle of taking a number.
func lateness(h *Host, worker int) (time.Duration, error) {
	paths, err := filepath.Glob(filepath.Join(h.dir, "daemon", "*.events"))
	if err != nil {
		return 0, err
	}
	var closed, next evidence.Mono
	for _, path := range paths {
		err := evidence.ReadEvents(path, func(e evidence.Event) error {
			switch {
			case closed == 0 && e.Kind == evidence.Releasing && e.Worker == worker:
				closed = e.At
			case closed != 0 && next == 0 && e.Kind == evidence.Issued:
				next = e.At
			}
			return nil
		})
		if err != nil {
			return 0, err
		}
	}
	if closed == 0 || next == 0 {
		return 0, fmt.Errorf("the drill is void: %s gave back worker ID %d at %d and issued next at %d", h.Name, worker, closed, next)
	}
	return time.Duration(next - closed), nil
}
