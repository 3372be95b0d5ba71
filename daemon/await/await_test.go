package await

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// store is a Source that counts up while it has something.
type store struct {
	mu    sync.Mutex
	next  int64
	left  int
	most  int // of one run
	wait  issue.Wait
	asked chan struct{} // gets one for each Take in vain
}

func newStore(left int) *store {
	return &store{left: left, most: 1 << 30, wait: issue.Wait{Event: true}, asked: make(chan struct{}, 1<<16)}
}

func (s *store) Take(_ *issue.Connection, _ uint32, n int) (generator.Run, issue.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n = min(n, s.left, s.most)
	if n == 0 {
		s.asked <- struct{}{}
		return generator.Run{}, s.wait
	}
	run := generator.Run{First: s.next, N: n}
	s.next += int64(n)
	s.left -= n
	return run, issue.Wait{}
}

func (s *store) put(n int, w issue.Wait) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.left, s.wait = n, w
}

type counts struct {
	waits         atomic.Int64
	issued, burnt atomic.Uint64
	answers       atomic.Int64 // that took a time,
	took          atomic.Int64 // and that of all
}

func (c *counts) Waits(n int64)                { c.waits.Add(n) }
func (c *counts) Issued(_ form.Form, n uint64) { c.issued.Add(n) }
func (c *counts) Burnt(n uint64)               { c.burnt.Add(n) }
func (c *counts) Took(d time.Duration)         { c.answers.Add(1); c.took.Add(int64(d)) }

func start(t *testing.T, s *store) (*Taker, *counts) {
	c := &counts{}
	taker := New(s, clockguard.System{}, c)
	return taker, c
}

// slow is a clock that a test has go on.
type slow struct {
	clockguard.System
	by atomic.Int64
}

func (s *slow) Now() clockguard.Reading {
	r := s.System.Now()
	r.Mono += clockguard.Mono(s.by.Load())
	return r
}

// A request took from when it came until it had all, or was refused; one whose caller has gone did
// not.
func TestItIsToldHowLongRequestsTook(t *testing.T) {
	s, counts, clock := newStore(0), &counts{}, &slow{}
	taker := New(s, clock, counts)
	ended := make(chan error)
	take := func(ctx context.Context) {
		_, err := taker.Take(ctx, &issue.Connection{}, 0, 1, form.Integer, nil)
		ended <- err
	}
	go take(t.Context())
	<-s.asked
	clock.by.Add(int64(time.Hour))
	s.put(1, issue.Wait{})
	taker.Wake()
	if err := <-ended; err != nil || counts.answers.Load() != 1 || time.Duration(counts.took.Load()).Round(time.Minute) != time.Hour {
		t.Errorf("%v, %d took %v", err, counts.answers.Load(), time.Duration(counts.took.Load()))
	}
	s.put(0, issue.Wait{Err: errors.New("x")})
	go take(t.Context())
	if err := <-ended; err == nil || counts.answers.Load() != 2 {
		t.Errorf("%v, and %d took a time", err, counts.answers.Load())
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	go take(gone)
	if err := <-ended; err == nil || counts.answers.Load() != 2 {
		t.Errorf("%v, and %d took a time", err, counts.answers.Load())
	}
}

func TestRunsAreTakenUntilThereAreAll(t *testing.T) {
	s := newStore(100)
	s.most = 3
	taker, counts := start(t, s)
	runs, err := taker.Take(context.Background(), &issue.Connection{}, 0, 7, form.Integer, nil)
	if err != nil || len(runs) != 3 || runs[2] != (generator.Run{First: 6, N: 1}) {
		t.Errorf("%v, %v", runs, err)
	}
	if counts.issued.Load() != 7 || counts.burnt.Load() != 0 {
		t.Errorf("%d issued, %d burnt", counts.issued.Load(), counts.burnt.Load())
	}
}

func TestARequestWaitsForAChangeOrATime(t *testing.T) {
	for name, wait := range map[string]issue.Wait{
		"a change": {Event: true}, "a time": {For: time.Millisecond}, "both": {For: time.Hour, Event: true}, "nothing known": {},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(0)
			s.wait = wait
			taker, counts := start(t, s)
			done := make(chan error, 1)
			go func() {
				_, err := taker.Take(context.Background(), &issue.Connection{}, 0, 1, form.Integer, nil)
				done <- err
			}()
			<-s.asked
			<-s.asked // the second time, it watches for changes
			if got := counts.waits.Load(); got != 1 {
				t.Errorf("%d wait", got)
			}
			s.put(1, issue.Wait{})
			if wait.Event {
				taker.Wake()
			}
			if err := <-done; err != nil || counts.waits.Load() != 0 {
				t.Errorf("%v; %d wait", err, counts.waits.Load())
			}
		})
	}
}

func TestWhatWasTakenForACallerWhoHasGoneIsBurnt(t *testing.T) {
	s := newStore(5)
	taker, counts := start(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() {
		_, err := taker.Take(ctx, &issue.Connection{}, 0, 8, form.Integer, nil)
		done <- err
	}()
	<-s.asked
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	if counts.issued.Load() != 0 || counts.burnt.Load() != 5 || counts.waits.Load() != 0 {
		t.Errorf("%d issued, %d burnt, %d wait", counts.issued.Load(), counts.burnt.Load(), counts.waits.Load())
	}
}

func TestARequestThatWaitsIsGivenUpWithTheDaemon(t *testing.T) {
	s := newStore(0)
	taker, counts := start(t, s)
	done := make(chan error, 1)
	go func() {
		_, err := taker.Take(context.Background(), &issue.Connection{}, 0, 8, form.Integer, nil)
		done <- err
	}()
	<-s.asked
	taker.GiveUp()
	if err := <-done; !errors.Is(err, ErrOver) || counts.waits.Load() != 0 {
		t.Errorf("the error is %v; %d wait", err, counts.waits.Load())
	}
}

func TestWhoHasGoneBeforeTakesNothing(t *testing.T) {
	s := newStore(5)
	taker, _ := start(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := taker.Take(ctx, &issue.Connection{}, 0, 1, form.Integer, nil); !errors.Is(err, context.Canceled) || s.left != 5 {
		t.Errorf("%v, and %d are left", err, s.left)
	}
}

// 10,000 requests that wait and are given up leave no goroutine, and nothing is taken for them.
func TestTenThousandWhoHaveGoneLeaveNothing(t *testing.T) {
	const many = 10000
	before := runtime.NumGoroutine()
	s := newStore(0)
	s.wait = issue.Wait{For: time.Hour, Event: true}
	taker, counts := start(t, s)
	ctx, cancel := context.WithCancel(context.Background())
	var all sync.WaitGroup
	for range many {
		all.Go(func() {
			if _, err := taker.Take(ctx, &issue.Connection{}, 0, 1, form.Integer, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("the error is %v", err)
			}
		})
	}
	for range 2 * many {
		<-s.asked
	}
	cancel()
	all.Wait()
	s.put(many, issue.Wait{})
	taker.Wake()
	if s.left != many || counts.issued.Load() != 0 || counts.burnt.Load() != 0 || counts.waits.Load() != 0 || taker.waiting != 0 {
		t.Errorf("%d are left, %d issued, %d burnt, %d wait", s.left, counts.issued.Load(), counts.burnt.Load(), counts.waits.Load())
	}
	if after := runtime.NumGoroutine(); after > before+1 {
		t.Errorf("%d goroutines, %d before", after, before)
	}
}
