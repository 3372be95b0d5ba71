package scheduler_test

import (
	"slices"
	"testing"

	"github.com/flakeward/flakeward/sim/scheduler"
)

func TestEventsHappenInOrder(t *testing.T) {
	var s scheduler.Scheduler
	var got []string
	at := func(when scheduler.Time, what string) *scheduler.Event {
		return s.At(when, func() { got = append(got, what) })
	}
	at(20, "c")
	at(10, "a")
	at(10, "b")
	at(15, "cancelled").Cancel()
	at(30, "too late")
	s.At(20, func() { at(5, "d, as early as can be") })
	s.Run(25)
	if want := []string{"a", "b", "c", "d, as early as can be"}; !slices.Equal(got, want) || s.Now() != 25 {
		t.Errorf("%q until %d, want %q until 25", got, s.Now(), want)
	}
}

func TestCoroutine(t *testing.T) {
	var s scheduler.Scheduler
	var got []string
	var f *scheduler.Coroutine
	f = s.Coroutine(func() {
		defer func() { got = append(got, "deferred") }()
		got = append(got, "begun")
		if s.Running() != f {
			t.Error("another coroutine is said to run")
		}
		f.Yield()
		got = append(got, "resumed")
		f.Yield()
		got = append(got, "never")
	})
	f.Resume()
	got = append(got, "suspended")
	f.Resume()
	f.End()
	f.Resume()
	if want := []string{"begun", "suspended", "resumed", "deferred"}; !slices.Equal(got, want) || !f.Done() {
		t.Errorf("%q, done %v; want %q", got, f.Done(), want)
	}
}
