//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
)

const (
	severalLanes = 3
	lostLane     = 1
	// lanesPublish is longer than a daemon that has no worker ID waits between two tries: what is
	// lost just after it was granted more goes to that one, before the one that had it asks for it
	// again.
	lanesPublish = 1500 * time.Millisecond
	lanesWindow  = 6 * time.Second
	lanesBack    = 1500 * time.Millisecond
	// lanesApart is for how long a lane is without a worker ID, and longest how long its
	// connections may wait meanwhile: far shorter than if they waited for the lane, and as long as
	// a busy machine may take.
	lanesApart   = 3 * time.Second
	lanesLongest = 2500 * time.Millisecond
)

func init() {
	register(Drill{
		Name: "lanes",
		What: "the clock of a daemon with three lanes goes back by 1.5 s, one lane loses its worker ID to another host and gets one later, the daemon is killed and started: " +
			"no request waits for the lane that is lost, and each lane goes on where it stopped",
		Options: Options{
			Layout: "time=41@1ms,worker=2,sequence=20;epoch=2026-01-01", // four worker IDs: as many as there are lanes at first
			Hosts:  2,
			Lanes:  []int{severalLanes},
			Window: lanesWindow, Publish: lanesPublish,
			TTL:      20 * time.Second, // no claim is to end but the one that is cleared
			MaxBlock: 25 * time.Second, // whoever waits shows as a stall
			Env:      map[string]string{fault.Disk: "volatile"},
			Limit:    3 * time.Minute,
		},
		Script: lanes,
		Judge:  judgeLanes,
	})
}

// parting is what befell a lane, and then all of them. All instants are in order.
type parting struct {
	had, restarted []laneHeld // the first host's lanes, before and after it was killed; had[lostLane] is what was lost
	waits          int        // which of the other host's two lanes has found no worker ID
	taken          laneHeld   // by that
	regained       []laneHeld

	back                        evidence.Mono
	answers                     answers       // to the clock
	cleared, gone, freed, whole evidence.Mono // gone: its grant has ended; whole: all lanes have a worker ID again
	killed, started, wholeAgain evidence.Mono
}

var partings notes[parting]

// laneHeld is what a daemon says of one of its lanes.
type laneHeld struct {
	worker         int // -1: none; without a claim, the one that it had
	claimed        bool
	claim, opening string
	ceiling        generator.Tick
	condition      string
}

// lanesHeld are the lanes of a host's daemon, and how many of them serve.
func lanesHeld(ctx context.Context, h *Host) (all []laneHeld, ready int, err error) {
	info, err := h.Info(ctx)
	if err != nil {
		return nil, 0, err
	}
	n, err := strconv.Atoi(info["lanes"])
	ready, bad := strconv.Atoi(info["lanes_ready"])
	err = errors.Join(err, bad)
	for lane := range n {
		prefix := ""
		if lane > 0 {
			prefix = fmt.Sprintf("lane%d_", lane)
		}
		worker, bad := strconv.Atoi(info[prefix+"worker_id"])
		ceiling, worse := strconv.ParseInt(info[prefix+"ceiling"], 10, 64)
		err = errors.Join(err, bad, worse)
		all = append(all, laneHeld{
			worker: worker, claimed: info[prefix+"claimed"] == "true", claim: info[prefix+"claim"], opening: info[prefix+"opening"],
			ceiling: generator.Tick(ceiling), condition: info[prefix+"condition"],
		})
	}
	if err != nil {
		return nil, 0, fmt.Errorf("%s: INFO: %w", h.Name, err)
	}
	return all, ready, nil
}

// lanesReady waits until so many of a host's lanes serve.
func lanesReady(ctx context.Context, r *Run, h *Host, want int) (all []laneHeld, err error) {
	err = lookUntil(ctx, r, fmt.Sprintf("%d lanes of %s that serve", want, h.Name), func() error {
		ready := 0
		all, ready, err = lanesHeld(ctx, h)
		if err == nil && ready != want {
			err = fmt.Errorf("%d serve: %+v", ready, all)
		}
		return err
	})
	return all, err
}

func lanes(ctx context.Context, r *Run) {
	seen, h, other := partings.of(r), r.Hosts[0], r.Hosts[1]
	must(all(ctx, r.Hosts, 1000))
	seen.setBack(ctx, r, h)
	seen.lose(ctx, r, h, other)
	seen.regain(ctx, r, h, other)
	must(Each(r.Hosts, func(one *Host) error {
		if one == h {
			return seen.kill(ctx, r, h)
		}
		if err := other.Start(ctx); err != nil {
			return err
		}
		_, err := other.AwaitAnswer(ctx)
		return err
	}))
	must(all(ctx, r.Hosts, 1000))
}

// lose has a lane lose its claim, and with it the worker ID: a lane of the other host waits for
// one.
func (s *parting) lose(ctx context.Context, r *Run, h, other *Host) {
	s.had = mustGet(lanesReady(ctx, r, h, severalLanes))
	r.Step("%s has worker IDs %v; %s is started again, with one lane more than there are worker IDs", h.Name, workersHeld(s.had), other.Name)
	must(other.Stop(ctx))
	must(other.Start(ctx, "--lanes=2"))
	must(lookUntil(ctx, r, "a lane of "+other.Name+" that waits", func() error {
		both, _, err := lanesHeld(ctx, other)
		if err != nil {
			return err
		}
		// Not by the worker ID: a lane that waits may have one in its journal.
		s.waits = slices.IndexFunc(both, func(l laneHeld) bool { return !l.claimed })
		if s.waits < 0 || len(both) != 2 || !both[1-s.waits].claimed {
			return fmt.Errorf("%s has %+v", other.Name, both)
		}
		return says(other.Name, both[s.waits].condition, "all worker IDs are taken")
	}))
	for lost := false; !lost; {
		lost = s.clear(ctx, r, h, other)
	}
	r.Step("%s has taken worker ID %d by opening %s; lane %d of %s issues to the end of its grant", other.Name, s.taken.worker, s.taken.opening, lostLane, h.Name)
	mustGet(lanesReady(ctx, r, h, severalLanes-1))
	s.gone = evidence.Now()
	r.Step("its grant has ended, and the other lanes of %s serve", h.Name)
	must(r.Last(ctx, lanesApart))
	mustGet(lanesReady(ctx, r, other, 2))
}

func workersHeld(all []laneHeld) (workers []int) {
	for _, l := range all {
		workers = append(workers, l.worker)
	}
	return workers
}

// clear clears the claim of a lane, just after that was granted more, and reports whether the other
// host took its worker ID.
func (s *parting) clear(ctx context.Context, r *Run, h, other *Host) (lost bool) {
	var last generator.Tick
	must(lookUntil(ctx, r, "a grant", func() (err error) {
		if s.had, _, err = lanesHeld(ctx, h); err != nil {
			return err
		}
		now := s.had[lostLane]
		before := last
		if last = now.ceiling; before == 0 || last == before || !now.claimed {
			return fmt.Errorf("lane %d of %s has %+v", lostLane, h.Name, now)
		}
		return nil
	}))
	claim := s.had[lostLane]
	r.Step("clearing the claim %s of lane %d of %s, which has worker ID %d by opening %s", claim.claim, lostLane, h.Name, claim.worker, claim.opening)
	s.cleared = evidence.Now()
	must(h.ClearClaim(ctx, claim.claim))
	must(lookUntil(ctx, r, "another claim on the worker ID", func() error {
		waited, _, err := lanesHeld(ctx, other)
		if err != nil {
			return err
		}
		if s.taken = waited[s.waits]; s.taken.claimed && s.taken.worker == claim.worker {
			lost = true
			return nil
		}
		now, _, err := lanesHeld(ctx, h)
		if err == nil && (now[lostLane].opening == claim.opening || !now[lostLane].claimed) {
			err = fmt.Errorf("lane %d of %s has %+v", lostLane, h.Name, now[lostLane])
		}
		return err
	}))
	return lost
}

// regain frees worker IDs: the lane gets one.
func (s *parting) regain(ctx context.Context, r *Run, h, other *Host) {
	s.freed = evidence.Now()
	r.Step("%s is stopped", other.Name)
	must(other.Stop(ctx))
	s.regained = mustGet(lanesReady(ctx, r, h, severalLanes))
	s.whole = evidence.Now()
	r.Step("all lanes of %s serve again, with worker IDs %v", h.Name, workersHeld(s.regained))
	must(h.AwaitIDs(ctx, 1000))
}

// kill kills the host's daemon and starts it.
func (s *parting) kill(ctx context.Context, r *Run, h *Host) (err error) {
	r.Step("%s is killed and started again, and the other is started as it was", h.Name)
	s.killed = evidence.Now()
	if err := h.Kill(ctx); err != nil {
		return err
	}
	if err := h.Start(ctx); err != nil {
		return err
	}
	s.started = evidence.Now()
	if _, err := h.AwaitAnswer(ctx); err != nil {
		return err
	}
	if s.restarted, err = lanesReady(ctx, r, h, severalLanes); err != nil {
		return err
	}
	s.wholeAgain = evidence.Now()
	r.Step("all its lanes serve, with worker IDs %v", workersHeld(s.restarted))
	return h.AwaitIDs(ctx, 1000)
}

// setBack sets the host's clock back under load, and right again.
func (s *parting) setBack(ctx context.Context, r *Run, h *Host) {
	mustGet(lanesReady(ctx, r, h, severalLanes))
	before := mustGet(guardAnswers(ctx, h))
	s.back = evidence.Now()
	must(h.SetClock(ctx, -lanesBack))
	r.Step("the clock of %s goes back by %v", h.Name, lanesBack)
	must(r.Last(ctx, settled))
	after := mustGet(guardAnswers(ctx, h))
	s.answers = after.since(before)
	r.Step("its lanes' guards have answered: %v", s.answers)
	must(h.SetClock(ctx, 0))
}

func judgeLanes(res *Result) {
	seen, h := partings.of(res.Run), res.Run.Hosts[0]
	noneFailed(res, h.Index, res.Drill.Began, seen.killed)
	noneFailed(res, h.Index, seen.wholeAgain, res.Drill.Ended)
	judgeLostLane(res, seen, h)

	stalled(res, "longest stall with a lane less, of any connection", res.Host(h.Index).WorstStall, seen.gone, seen.freed, 100*time.Millisecond, lanesLongest)
	stall := res.Host(h.Index).WorstStall(seen.cleared, seen.gone)
	res.Figure("longest stall until then, of any connection", stall.Round(time.Millisecond).String(), "<= 100ms", stall <= 100*time.Millisecond)
	took := time.Duration(seen.whole - seen.freed)
	within(res, "all lanes after another host was stopped", took, 2*time.Second, 5*busy)
	res.Recovered(took)

	// Nobody else wants a worker ID then: each lane goes on from its own journal.
	for lane, was := range seen.regained {
		claim, err := firstClaim(h, lane)
		switch now := seen.restarted[lane]; {
		case err != nil:
			res.Fail("%v", err)
		case !claim.Continues || claim.Worker != was.worker || now.worker != was.worker:
			res.Fail("lane %d of %s had worker ID %d when it was killed, and was then given %d, continued: %t; it has %d", lane, h.Name, was.worker, claim.Worker,
				claim.Continues, now.worker)
		}
	}
	within(res, "serving after the kill", time.Duration(seen.served(res, h)-seen.started), restartAim, 5*busy)
	within(res, "all lanes after the kill", time.Duration(seen.wholeAgain-seen.started), restartAim, 5*busy)

	if seen.answers["ring"] == 0 {
		res.Fail("the drill is void: the clock went back by %v, and the guards answered: %v", lanesBack, seen.answers)
	}
	// A lane whose ring is full asks for another worker ID, and all are held.
	given := len(res.Workers(h.Index, res.Drill.Began, seen.cleared)) - severalLanes
	res.Figure("worker IDs given up for the clock", fmt.Sprint(given), "0", given == 0)
	stalled(res, "longest stall, clock back", res.Host(h.Index).WorstStall, seen.back, seen.back+evidence.Mono(settled), 100*time.Millisecond, busy)
	res.Stall(max(res.Host(h.Index).LongestStall(res.Drill.Began, seen.killed), res.Host(h.Index).LongestStall(seen.wholeAgain, res.Drill.Ended)))
}

// judgeLostLane looks whether a lane really lost its worker ID to another, issued from it before,
// and was without one then.
func judgeLostLane(res *Result, seen *parting, h *Host) {
	lost := seen.had[lostLane]
	workers := slices.Sorted(slices.Values(workersHeld(seen.had)))
	if got := res.Workers(h.Index, seen.back+evidence.Mono(settled), seen.cleared); !slices.Equal(got, workers) {
		res.Fail("the drill is void: %s held worker IDs %v and issued from %v", h.Name, workers, got)
	}
	left := slices.DeleteFunc(slices.Clone(workers), func(w int) bool { return w == lost.worker })
	if got := res.Workers(h.Index, seen.gone, seen.freed); !slices.Equal(got, left) {
		res.Fail("%s had lost worker ID %d and held %v, and issued from %v", h.Name, lost.worker, left, got)
	}
	held, taken := -1, -1
	for i, v := range res.History {
		switch {
		case v.Worker == lost.worker && v.Holder == lost.opening:
			held = i
		case v.Worker == lost.worker && v.Holder == seen.taken.opening && taken < 0:
			taken = i
		}
	}
	if held < 0 || taken < held {
		res.Fail("the drill is void: worker ID %d was held by opening %s up to version %d and by %s from version %d of its history", lost.worker, lost.opening, held,
			seen.taken.opening, taken)
	}
	if len(res.Faults("claim cleared")) == 0 || len(res.Faults("kill")) == 0 || len(res.Faults("clock -")) == 0 {
		res.Fail("the drill is void: its faults are %v", res.Faults(""))
	}
}

// served is when the host first gave an ID after it was started.
func (s *parting) served(res *Result, h *Host) evidence.Mono {
	first, ok := res.Host(h.Index).First(s.started)
	if !ok {
		return res.Drill.Ended
	}
	return first.Answered
}

// firstClaim is what the first claim of a lane brought, in the last life of a host's daemon.
func firstClaim(h *Host, lane int) (claim evidence.Event, err error) {
	paths, err := filepath.Glob(filepath.Join(h.dir, "daemon", "*.events"))
	if err != nil || len(paths) == 0 {
		return claim, fmt.Errorf("%s has left no log: %w", h.Name, err)
	}
	slices.SortFunc(paths, strings.Compare) // the names sort by time
	err = evidence.ReadEvents(paths[len(paths)-1], func(e evidence.Event) error {
		if claim.Kind == 0 && e.Kind == evidence.Claimed && e.Lane == lane {
			claim = e
		}
		return nil
	})
	if err == nil && claim.Kind == 0 {
		err = fmt.Errorf("lane %d of %s claimed nothing after the kill", lane, h.Name)
	}
	return claim, err
}
