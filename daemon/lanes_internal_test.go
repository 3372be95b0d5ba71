package daemon

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
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

// What a start waits for is what any of the lanes waits for.
func TestConditionIsThatOfAnyLane(t *testing.T) {
	first, _ := laneOf(t)
	second, _ := laneOf(t)
	all := lanes{first, second}
	first.holder.Load().NotJoined(nil)
	why := errors.New("the second lane's")
	second.holder.Load().NotJoined(why)
	if err := all.condition(); !errors.Is(err, why) {
		t.Errorf("the condition is %v, want %v", err, why)
	}
	second.holder.Load().NotJoined(nil)
	if err := all.condition(); err == nil {
		t.Error("nothing is said where no lane knows a reason")
	}
}

// The lanes of a daemon share what they know to be issued, and its grants end with the last of
// theirs.
func TestWhatLanesShare(t *testing.T) {
	c := DefaultConfig()
	c.Host, c.StateDir, c.Socket.Path, c.IDs.Lanes = "host", t.TempDir(), "unused", 3
	d := must.Get(New(c))(t)
	d.clock = clockguard.NewKnown(clocktest.NewManual(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC)), nil, clockguard.DefaultBelief())
	dir := must.Get(journal.OpenDir(c.StateDir, place.Host{}))(t)
	defer func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	}()
	d.lanes = must.Get(newLanes(d.config, d.layout, d.clock))(t)
	must.Do(t, d.makeHolders(dir))
	for i, l := range d.lanes {
		err := l.holder.Load().Inherit(journal.Contents{Layout: l.holder.Load().LayoutText(), Lanes: []journal.Entry{{Worker: i, Opening: "some", Mark: 50}}})
		must.Do(t, err)
	}
	for i, l := range d.lanes {
		for worker := range d.lanes {
			if to := l.holder.Load().Issued.To(worker); to != 50 {
				t.Errorf("lane %d knows that worker ID %d was issued from up to %d, want 50", i, worker, to)
			}
		}
	}
}
