//go:build e2e

package drills

import (
	"context"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// twoDaemons starts a second daemon on the socket of one that runs: it is refused with a clear
// error, and the first is not disturbed.
func twoDaemons(ctx context.Context, r *Run) func(*Result) {
	var first, second *Host
	until(ctx, func() {
		for _, h := range r.Hosts {
			if !h.state(ctx).Running {
				second, first = h, r.Others(h)[0]
				return
			}
		}
		fail("both run")
	}, "one of two daemons to end")
	worker := first.holds(ctx).worker
	for range 3 {
		r.Step("the daemon of %s runs, with worker ID %d; that of %s is started again", first, worker, second)
		first.AwaitIDs(ctx, 1000)
		before := second.Log(ctx)
		r.Fault(second.Name, "a second daemon")
		second.Start(ctx)
		until(ctx, func() {
			if s := second.state(ctx); s.Running || s.Status == 0 {
				fail("it runs, or ended as if nothing were wrong: %+v", s)
			}
		}, "the end of the second daemon")
		second.logs(ctx, before, "the socket", "is in use by another process", "choose another path")
	}
	first.AwaitIDs(ctx, 1000)
	return func(res *Result) {
		res.neverFailed(r.Hosts...) // both hosts' clients ask the one daemon
		for _, h := range r.Hosts {
			res.from(worker, h, res.Began, res.Ended)
		}
	}
}

// moreDaemons has more daemons than worker IDs: one waits with a clear error, and serves within 2 s
// after another was stopped.
func moreDaemons(ctx context.Context, r *Run) func(*Result) {
	var judges []func(*Result)
	stops, other, waits := cast(ctx, r)
	for range 3 {
		refusal := waits.AwaitRefusal(ctx, "since ", "all worker IDs are taken: 2 held of 2")
		r.Step("%s waits, and says: %s", waits, refusal.Text)
		all(ctx, 1000, stops, other)
		worker, to := stops.holds(ctx).worker, waits
		r.Step("%s is stopped, which has worker ID %d", stops, worker)
		stops.Stop(ctx)
		freed := evidence.Now()
		served := to.AwaitAnswer(ctx).Answered
		judges = append(judges, func(res *Result) {
			res.from(worker, to, freed, served)
			res.within("serving after another was stopped", time.Duration(served-freed), 2*time.Second, 2*busy)
		})
		r.Step("%s serves, and %s is started again", to, stops)
		stops.Start(ctx)
		stops, other, waits = other, to, stops
	}
	all(ctx, 1000, stops, other)
	return func(res *Result) {
		for _, judge := range judges {
			judge(res)
		}
	}
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

// passedOn has a worker ID go straight from one daemon to another whose clock is behind, while the
// first is still taking numbers from it: those that it takes too late are thrown away.
func passedOn(ctx context.Context, r *Run) func(*Result) {
	from, to := r.Hosts[0], r.Hosts[1]
	all(ctx, 200, r.Hosts...)
	worker := from.holds(ctx).worker
	from.AwaitNone(ctx, passedQuiet)
	from.SetClock(-passedBehind)
	r.Step("%s holds worker ID %d, and a number that is being taken from it; its clock goes back, so that it takes another worker ID", from, worker)
	from.logs(ctx, "", "released the worker ID")
	r.Step("worker ID %d is free; the clock of %s goes back by %v, so that it takes that", worker, to, passedBehind)
	to.SetClock(-passedBehind)
	to.Await(ctx, "IDs from that worker ID", func(reply evidence.Reply) bool {
		_, got := lowest(r, reply)
		return got == worker
	})
	r.Step("%s issues from it", to)
	all(ctx, 200, r.Hosts...)
	return func(res *Result) {
		if late := lateness(from, worker); late < passedHeld {
			res.Fail("the drill is void: %s issued again %v after it had closed the lane of worker ID %d: no number was being taken", from, late, worker)
		}
		var back, taken bool
		var last generator.Tick
		for _, v := range res.History {
			if v.Worker == worker {
				back = back || v.Ceiling < last
				taken = taken || back && v.Holder != "" && v.Ceiling > last
				last = v.Ceiling
			}
		}
		if !back || !taken {
			res.Fail("the drill is void: the record of worker ID %d was not given back and then taken", worker)
		}
	}
}

// lateness is how long after it had closed its lane of a worker ID a daemon, which does one thing
// after the other, issued again: for so long at the least it was in the middle of taking a number.
func lateness(h *Host, worker int) time.Duration {
	var closed, next evidence.Mono
	for _, path := range mustGet(filepath.Glob(filepath.Join(h.dir, "daemon", "*.events"))) {
		must(evidence.ReadEvents(path, func(e evidence.Event) error {
			switch {
			case closed == 0 && e.Kind == evidence.Releasing && e.Worker == worker:
				closed = e.At
			case closed != 0 && next == 0 && e.Kind == evidence.Issued:
				next = e.At
			}
			return nil
		}))
	}
	if closed == 0 || next == 0 {
		fail("the drill is void: %s gave back worker ID %d at %d and issued next at %d", h, worker, closed, next)
	}
	return time.Duration(next - closed)
}

// zombieWindow leaves some of the grant when the one that sleeps is resumed: its session has ended
// by then, and another has its worker ID.
const zombieWindow = 8 * time.Second

// zombie pauses a daemon for longer than its session; another takes its worker ID and issues from
// it, and the first is resumed: it issues to the end of its own grant, not beyond, and then from
// the next worker ID that is free.
func zombie(ctx context.Context, r *Run) func(*Result) {
	sleeper, other, successor := cast(ctx, r)
	// Otherwise the successor would have to wait for the end of the grant before it. So both issue
	// at once.
	r.Step("%s waits for a worker ID; its clock goes ahead by the window", successor)
	successor.SetClock(zombieWindow)
	all(ctx, 1000, sleeper, other)
	had := sleeper.holds(ctx)
	r.Step("pausing %s, which holds worker ID %d by opening %s", sleeper, had.worker, had.opening)
	sleeper.Pause(ctx)
	var taken held
	until(ctx, func() {
		if taken = successor.holds(ctx); taken.worker != had.worker || !taken.claimed {
			fail("%s holds worker ID %d: %q", successor, taken.worker, taken.condition)
		}
	}, "a successor")
	successor.AwaitIDs(ctx, 1000)
	r.Step("%s holds worker ID %d, by opening %s, and issues above %d; resuming %s", successor, taken.worker, taken.opening, taken.floor, sleeper)
	resumed := evidence.Now()
	sleeper.Resume(ctx)
	first := sleeper.AwaitAnswer(ctx).Answered
	r.Step("%s issues, %v after it was resumed", sleeper, time.Duration(first-resumed).Round(time.Millisecond))
	refusal := sleeper.AwaitRefusal(ctx, "since ", "2 held of 2")
	ended, refused := refusal.Asked, refusal.Answered // of its grant
	r.Step("its grant has ended, and it says: %s", refusal.Text)
	sleeper.AwaitNone(ctx, 500*time.Millisecond)
	outlived := evidence.Now()
	successor.AwaitIDs(ctx, 1000)
	next := other.holds(ctx).worker
	r.Step("%s, which holds worker ID %d, is stopped", other, next)
	freed := evidence.Now()
	other.Stop(ctx)
	again := sleeper.AwaitAnswer(ctx).Answered
	r.Step("%s serves again", sleeper)
	all(ctx, 1000, sleeper, successor)
	return func(res *Result) {
		res.noneFailed(res.Began, freed, other)
		// The coordinator itself has to say that the worker ID changed hands, after the last grant
		// to the one that slept.
		last, after := -1, -1
		for i, v := range res.History {
			switch {
			case v.Worker == had.worker && v.Holder == had.opening:
				last = i
			case v.Worker == had.worker && v.Holder == taken.opening && after < 0:
				after = i
			}
		}
		if last < 0 || after < last {
			res.Fail("the drill is void: worker ID %d was held by opening %s up to version %d and by %s from version %d of its history", had.worker,
				had.opening, last, taken.opening, after)
		}
		res.within("the first ID after the resume", time.Duration(first-resumed), time.Second, 5*time.Second)
		for _, reply := range sleeper.Replies.Failed(res.Began, ended) {
			if reply.Answered < ended {
				res.Fail("%s failed a request before its grant had ended: outcome %d, %q", sleeper, reply.Outcome, reply.Text)
				break
			}
		}
		if own, others := sleeper.Replies.IDs(resumed, refused), successor.Replies.IDs(resumed, refused); own < 100 || others < 100 {
			res.Fail("the drill is void: %d IDs of the one that slept and %d of its successor while both issued from worker ID %d", own, others, had.worker)
		}
		res.from(had.worker, sleeper, resumed, outlived)
		res.from(had.worker, successor, resumed, outlived)
		if n := sleeper.Replies.IDs(outlived, freed); n > 0 {
			res.Fail("%s issued %d IDs with no worker ID", sleeper, n)
		}
		res.from(next, sleeper, freed, res.Ended)
		res.within("IDs from the worker ID that was freed", time.Duration(again-freed), 2*time.Second, 10*time.Second)
	}
}
