package daemon

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

const laneText = "time=41@1ms,worker=2,sequence=2;epoch=2026-01-01T00:00:00Z"

func laneOf(t *testing.T) (*lane, *clocktest.Manual) {
	t.Helper()
	layout := must.Get(generator.ParseLayout(laneText))(t)
	clock := clocktest.NewManual(layout.Epoch().Add(1000 * time.Hour))
	l := &lane{layout: layout, first: time.Second, issuer: issue.New(layout, clock, issue.Limits{}, nil)}
	l.holder.Store(grant.New(grant.Config{Layout: layout, Clock: clock}, l))
	return l, clock
}

// A lane whose worker ID may have been issued from up to minutes ahead of the clock serves nobody
// until then, whatever it is granted.
func TestALaneAheadOfTheClockIsNotReady(t *testing.T) {
	l, clock := laneOf(t)
	floor := l.layout.TickAt(clock.Now().Wall) + 600_000
	of := must.Get(generator.NewLane(l.layout, 0, 1, floor))(t)
	l.Use(of)
	for _, granted := range []bool{false, true} {
		if granted && !of.Raise(floor+10_000) {
			t.Fatal("the ceiling is not raised")
		}
		if s := l.state(clock.Now()); serves(s) {
			t.Errorf("granted %v: the lane is %q ten minutes before its first tick", granted, s)
		}
	}
	clock.Advance(10*time.Minute - l.first + l.layout.TickLength())
	if s := l.state(clock.Now()); !serves(s) {
		t.Errorf("the lane is %q as long before its first tick as a restart may wait", s)
	}
	clock.Advance(2 * l.first)
	if s := l.state(clock.Now()); s != stateReady {
		t.Errorf("the lane is %q after its first tick", s)
	}
	if run, out := of.Take(0, l.layout.TickAt(clock.Now().Wall), 1); out != generator.Issued || run.N != 1 {
		t.Fatalf("nothing was issued: %v", out)
	}
	clock.Step(-time.Hour)
	if s := l.state(clock.Now()); s != stateClockBehind {
		t.Errorf("the lane is %q after it has issued and the clock has gone back, want %q: its slots have room", s, stateClockBehind)
	}
}
