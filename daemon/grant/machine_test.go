package grant_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// machine gives the host a virtual machine of generation 7, and returns that generation: whoever
// changes it makes of each process that runs a copy of itself, and who changes it back, the
// original again.
func (h *host) inMachine() *atomic.Uint64 {
	now := new(atomic.Uint64)
	now.Store(7)
	h.machine = generator.Generation{Now: now, Then: 7}
	return now
}

// untouched counts what the process asks of the coordinator from now on.
func (p *process) untouched() func() (calls int) {
	calls := 0
	p.coord.before = func(string) error { calls++; return nil }
	return func() int { return calls }
}

// steps are all that a holder does by itself.
func (p *process) steps() map[string]func() error {
	ctx := p.t.Context()
	return map[string]func() error{
		"Publish":          func() error { return p.Publish(ctx) },
		"Acquire":          func() error { return p.Acquire(ctx, false) },
		"Acquire, afresh":  func() error { return p.Acquire(ctx, true) },
		"Hold":             func() error { return p.Hold(ctx) },
		"Shut":             func() error { return p.Shut(ctx) },
		"Publish, when it": func() error { p.clock.Advance(window / 2); return p.Publish(ctx) },
	}
}

// A machine that is cloned between a claim and its opening: the claim is the original's, so the
// clone neither opens it nor deletes its node.
func TestACloneLeavesAnUnopenedClaim(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("H")
		now := h.inMachine()
		p := h.start()
		p.coord.claimed = func() { now.Store(8) }
		if err := p.Acquire(t.Context(), true); !errors.Is(err, grant.ErrCopied) {
			t.Fatalf("Acquire in a clone: %v, want ErrCopied", err)
		}
		members := must.Get(p.coord.Members(t.Context()))(t)
		unopened := slices.DeleteFunc(members, func(m coord.Member) bool { return m.Worker == p.worker() })
		if len(unopened) != 1 || unopened[0].Opening != "" {
			t.Errorf("besides the claim in use there are %+v, want one that is not opened", unopened)
		}
	})
}

// A process that runs on in a clone of its machine gives nothing and asks for nothing, in whichever
// step it is. Its original, which is the same process in the machine as it was, goes on with its
// claim; and the clone's next start gets another worker ID.
func TestACloneLeavesAllToItsOriginal(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("H")
		now := h.inMachine()
		original := h.start()
		original.issueAll()
		claim := original.Holding().Claim
		touched := original.untouched()

		now.Store(8)
		steps := original.steps()
		delete(steps, "Shut") // it ends the lanes that the original goes on with, and so comes last
		for what, do := range steps {
			if err := do(); !errors.Is(err, grant.ErrCopied) {
				t.Errorf("%s in a clone: %v, want ErrCopied", what, err)
			}
		}
		if n := original.issueAll(); n != 0 {
			t.Errorf("a clone issued %d numbers", n)
		}
		if calls := touched(); calls != 0 {
			t.Errorf("a clone made %d calls", calls)
		}
		anew := w.host("H").start()
		if anew.worker() == original.worker() || anew.issueAll() == 0 {
			t.Errorf("the clone's next start has worker ID %d, which its original has, or issues nothing", anew.worker())
		}

		now.Store(7)
		if err := original.Publish(t.Context()); err != nil || original.Holding().Claim != claim {
			t.Fatalf("the original has lost its claim to the clone: %v", err)
		}
		if original.issueAll() == 0 || anew.issueAll() != 0 {
			t.Error("the original does not go on, or the clone has more than was granted")
		}
		touched = original.untouched()
		now.Store(8)
		if err := original.Shut(t.Context()); !errors.Is(err, grant.ErrCopied) || touched() != 0 {
			t.Errorf("Shut in a clone: %v, after %d calls", err, touched())
		}
	})
}

func TestACloneThatLearnsOfARaiseAsksForNothing(t *testing.T) {
	w := newFixture(t)
	h := w.host("H")
	now := h.inMachine()
	p := h.start()
	touched := p.untouched()
	now.Store(8)
	raised := coord.Cluster{Raise: coord.Raise{Floor: p.Holding().Granted - 1, ClusterEpoch: "next"}}
	p.Learn(func() coord.Cluster { return raised })
	if err := p.Hold(t.Context()); !errors.Is(err, grant.ErrCopied) {
		t.Errorf("a clone holds on, and ends with %v", err)
	}
	if calls := touched(); calls != 0 {
		t.Errorf("a clone made %d calls", calls)
	}
}

// The machine is cloned while a claim is being made: no claim node is left that neither the
// original knows nor the clone.
func TestACloneInTheMiddleOfAClaimLeavesNoClaim(t *testing.T) {
	onEach(t, func(t *testing.T, w *fixture) {
		h := w.host("H")
		now := h.inMachine()
		p := h.start()
		before := w.members()
		p.coord.asked = func(coord.Request) { now.Store(8) }
		if err := p.Acquire(t.Context(), true); !errors.Is(err, grant.ErrCopied) {
			t.Errorf("the claim: %v, want ErrCopied", err)
		}
		if after := w.members(); !slices.Equal(after, before) {
			t.Errorf("there are the claims %+v; before the machine was cloned there were %+v", after, before)
		}
	})
}

// members are the claims, as an operator sees them.
func (w *fixture) members() (all []coord.Member) {
	w.t.Helper()
	w.operate(func(ctx context.Context, o coord.Operator) (err error) {
		all, err = o.Members(ctx)
		return err
	})
	return all
}

// The machine is cloned in the middle of a step: what the step makes gives nothing either, and
// nothing follows it.
func TestAMachineClonedInTheMiddleOfAStep(t *testing.T) {
	for name, c := range map[string]struct {
		at func(p *process, clone func())
		do func(p *process) error
	}{
		"a claim": {at: func(p *process, clone func()) {
			p.coord.before = func(call string) error {
				if call == "claim" {
					clone()
				}
				return nil
			}
		}, do: func(p *process) error { return p.Acquire(p.t.Context(), true) }},
		"an opening, behind it": {at: func(p *process, clone func()) {
			p.coord.before = func(call string) error {
				if call == "opened" {
					clone()
				}
				return nil
			}
		}, do: func(p *process) error { return p.Acquire(p.t.Context(), true) }},
		"the first grant of another worker ID": {at: func(p *process, clone func()) {
			p.coord.before = func(call string) error {
				switch call {
				case "extend":
					clone()
				case "release":
					p.t.Error("the clone gives the worker ID back that was replaced")
				}
				return nil
			}
		}, do: func(p *process) error { return p.Acquire(p.t.Context(), true) }},
		"an extend": {at: func(p *process, clone func()) {
			p.coord.before = func(string) error { clone(); return nil }
		}, do: func(p *process) error { p.clock.Advance(window / 2); return p.Publish(p.t.Context()) }},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t)
			h := w.host("H")
			now := h.inMachine()
			p := h.start()
			p.issueAll()
			c.at(p, func() { now.Store(8) })
			if err := c.do(p); err != nil && !errors.Is(err, grant.ErrCopied) {
				t.Errorf("the step: %v", err)
			}
			if now.Load() != 8 {
				t.Fatal("the machine was not cloned; the case is void")
			}
			if n := p.issueAll(); n != 0 {
				t.Errorf("the clone issued %d numbers", n)
			}
			touched := p.untouched()
			for what, do := range p.steps() {
				if err := do(); !errors.Is(err, grant.ErrCopied) {
					t.Errorf("%s afterwards: %v, want ErrCopied", what, err)
				}
			}
			if calls := touched(); calls != 0 {
				t.Errorf("the clone made %d calls afterwards", calls)
			}
		})
	}
}

// The machine is cloned while a stop is on its way: the clone would release below what its original
// issues from the lane that only the clone has closed.
func TestACloneMadeDuringAStopReleasesNothing(t *testing.T) {
	w := newFixture(t)
	h := w.host("H")
	now := h.inMachine()
	p := h.start()
	p.issueAll()
	releases := 0
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	p.coord.before = func(call string) error {
		if call != "release" {
			return nil
		}
		releases++
		return errCut
	}
	if err := p.Acquire(t.Context(), true); !errors.Is(err, errCut) {
		t.Fatalf("a re-lease that cannot give back: %v, want %v", err, errCut)
	}
	p.coord.before = func(call string) error {
		if call != "release" {
			return nil
		}
		if releases++; releases > 1 {
			stop() // or one that goes on trying is waited for
		}
		now.Store(8)
		return errCut
	}
	members := w.members()
	releases = 0
	if err := p.Shut(t.Context()); !errors.Is(err, grant.ErrCopied) {
		t.Fatalf("Shut of a clone: %v, want ErrCopied", err)
	}
	if err := p.Hold(ctx); !errors.Is(err, grant.ErrCopied) {
		t.Errorf("Hold of a clone: %v, want ErrCopied", err)
	}
	if releases != 1 {
		t.Errorf("%d releases were sent, want the one that the original was sending", releases)
	}
	if after := w.members(); !slices.Equal(after, members) {
		t.Errorf("the claims are %+v, want %+v", after, members)
	}
}
