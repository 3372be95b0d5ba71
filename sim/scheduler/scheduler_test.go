package scheduler_test

import (
	"slices"
	"testing"

	"github.com/flakeward/flakeward/sim/scheduler"
)

func TestEventsHappenInOrder(t *testing.T) {
	var l scheduler.Line
	var got []string
	at := func(when scheduler.Time, what string) *scheduler.Event {
		return l.At(when, func() { got = append(got, what) })
	}
	at(20, "c")
	at(10, "a")
	at(10, "b")
	at(15, "dropped").Drop()
	at(30, "too late")
	l.At(20, func() { at(5, "d, as early as can be") })
	l.Run(25)
	if want := []string{"a", "b", "c", "d, as early as can be"}; !slices.Equal(got, want) || l.Now() != 25 {
		t.Errorf("%q until %d, want %q until 25", got, l.Now(), want)
	}
}

func TestFlow(t *testing.T) {
	var l scheduler.Line
	var got []string
	var f *scheduler.Flow
	f = l.Flow(func() {
		defer func() { got = append(got, "deferred") }()
		got = append(got, "begun")
		if l.Running() != f {
			t.Error("another flow is said to run")
		}
		f.Park()
		got = append(got, "resumed")
		f.Park()
		got = append(got, "never")
	})
	f.Resume()
	got = append(got, "parked")
	f.Resume()
	f.End()
	f.Resume()
	if want := []string{"begun", "parked", "resumed", "deferred"}; !slices.Equal(got, want) || !f.Done() {
		t.Errorf("%q, done %v; want %q", got, f.Done(), want)
	}
}
