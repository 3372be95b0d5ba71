package scheduler_test

import (
	"runtime"
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

// Coroutines run on the threads of those that are over, however those ended, and find nothing of
// theirs there.
func TestCoroutinesShareThreads(t *testing.T) {
	var s scheduler.Scheduler
	var got []string
	said := func(what string) { got = append(got, what) }
	ended := s.Coroutine(func() {
		defer said("ended: deferred")
		s.Running().Yield()
		said("ended: never")
	})
	ended.Resume()
	ended.End()
	s.Coroutine(func() { said("never begun") }).End()
	var waits *scheduler.Coroutine
	waits = s.Coroutine(func() {
		said("waits: begun")
		waits.Yield()
		said("waits: resumed")
	})
	waits.Resume()
	beside := s.Coroutine(func() { said("beside") })
	beside.Resume()
	waits.Resume()
	if want := []string{"ended: deferred", "waits: begun", "beside", "waits: resumed"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if !ended.Done() || !waits.Done() || !beside.Done() {
		t.Error("one is not said to be over")
	}

	broken := s.Coroutine(func() { panic("broken") })
	func() {
		defer func() {
			if r := recover(); r != "broken" {
				t.Errorf("a panic becomes %v", r)
			}
		}()
		broken.Resume()
	}()
	broken.End()

	short := func() { s.Coroutine(func() {}).Resume() }
	short()
	if n := testing.AllocsPerRun(100, short); n > 2 {
		t.Errorf("a coroutine takes %v allocations", n)
	}
	goroutines := runtime.NumGoroutine()
	s.Close()
	if n := runtime.NumGoroutine(); n >= goroutines {
		t.Errorf("%d goroutines, and %d after all threads were ended", goroutines, n)
	}
	short()
	s.Close()
}
