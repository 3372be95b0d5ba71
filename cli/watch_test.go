package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
)

// watching is a status --cluster --watch that is under way.
type watching struct {
	*standIn
	clock     *clocktest.Manual
	interrupt func()
	ended     chan error

	out, complaints notes
}

// notes are what was written so far.
type notes struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (n *notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text.Write(b)
}

// new returns what was written since it was asked last.
func (n *notes) new() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	defer n.text.Reset()
	return n.text.String()
}

func startWatching(t *testing.T, s *standIn, terminal bool, args ...string) *watching {
	t.Helper()
	w := &watching{standIn: s, clock: clocktest.NewManual(noon), ended: make(chan error, 1)}
	ctx, cancel := context.WithCancel(t.Context())
	w.interrupt = cancel
	out := &outside{operate: s.operate, clock: w.clock, terminal: func(any) bool { return terminal }}
	go func() {
		w.ended <- newProgram(ownPaths(), out).run(ctx, append([]string{"flakeward", "status", "--cluster"}, args...), strings.NewReader(""), &w.out, &w.complaints)
	}()
	w.clock.BlockUntil(1)
	return w
}

// next lets the interval pass and waits until the next one begins.
func (w *watching) next(every time.Duration) {
	w.clock.Advance(every)
	w.clock.BlockUntil(1)
}

func (w *watching) stop(t *testing.T) {
	t.Helper()
	w.interrupt()
	if err := <-w.ended; err != nil {
		t.Errorf("interrupted, the watch ended with %v", err)
	}
	if w.open != 0 {
		t.Errorf("%d connections are left open", w.open)
	}
}

func TestWatch(t *testing.T) {
	away := false
	s := someCluster()
	s.fail = func(context.Context, string) error {
		if away {
			return errors.New("connection refused")
		}
		return nil
	}
	w := startWatching(t, s, false, "--watch")
	block := func(clock string) string {
		return clock + ", every 2s\ncluster " + clusterUUID + ": 2 members of 1024 worker IDs, layout " + fullLayout + "\n\nworker  host  incarnation"
	}
	if got := w.out.new(); !strings.HasPrefix(got, block("2026-01-01T12:00:00.000Z")) || !strings.Contains(got, "+10m0s") {
		t.Errorf("the first block is\n%s", got)
	}
	// Not before the interval has passed.
	w.clock.Advance(1999 * time.Millisecond)
	if got := w.out.new(); got != "" {
		t.Errorf("too early, printed\n%s", got)
	}
	w.next(time.Millisecond)
	if got := w.out.new(); !strings.HasPrefix(got, "\n"+block("2026-01-01T12:00:02.000Z")) || !strings.Contains(got, "+9m58s") {
		t.Errorf("the second block is\n%s", got)
	}
	if s.open != 1 || s.count("operate") != 1 {
		t.Errorf("the connection is not kept: %v", s.calls)
	}

	away = true
	for range 2 { // found out on the old connection, then on a new one
		w.next(2 * time.Second)
		if got := w.complaints.new(); got != "flakeward: coordinator embedded: connection refused; trying again every 2s\n" || w.out.new() != "" {
			t.Errorf("complained %q", got)
		}
	}
	away = false
	w.next(2 * time.Second)
	if got := w.out.new(); !strings.HasPrefix(got, "\n"+block("2026-01-01T12:00:08.000Z")) || w.complaints.new() != "" {
		t.Errorf("after the outage, printed\n%s", got)
	}
	// An error may be final for a connection, so each has another one made.
	if n := s.count("operate"); n != 3 || s.open != 1 {
		t.Errorf("%d connections were tried, want the first and one in each round after an error; %d are open", n, s.open)
	}
	silent := true
	s.fail = func(_ context.Context, call string) error {
		if silent && call == "members" {
			return errors.New("connection reset")
		}
		return nil
	}
	w.next(2 * time.Second)
	silent = false
	w.next(2 * time.Second)
	if n := s.count("operate"); n != 4 || s.open != 1 {
		t.Errorf("%d connections were tried, %d are open", n, s.open)
	}
	w.stop(t)
}

func TestWatchFromBeforeTheCoordinatorIsThere(t *testing.T) {
	s, away := someCluster(), true
	s.fail = func(context.Context, string) error {
		if away {
			return errors.New("connection refused")
		}
		return nil
	}
	w := startWatching(t, s, true, "--watch=5s")
	if got := w.out.new(); got != eraseScreen+"2026-01-01T12:00:00.000Z, every 5s\nflakeward: coordinator embedded: connection refused; trying again every 5s\n" {
		t.Errorf("printed %q", got)
	}
	away = false
	w.next(5 * time.Second)
	if got := w.out.new(); !strings.HasPrefix(got, eraseScreen+"2026-01-01T12:00:05.000Z, every 5s\ncluster ") {
		t.Errorf("printed %q", got)
	}
	away = true
	w.next(5 * time.Second)
	if got := w.out.new(); !strings.HasPrefix(got, eraseScreen) || !strings.Contains(got, "connection refused; trying again every 5s\n\nthe last answer:\ncluster ") {
		t.Errorf("printed %q", got)
	}
	if got := w.complaints.new(); got != "" {
		t.Errorf("complained %q", got)
	}
	w.stop(t)
}

func TestWatchInJSON(t *testing.T) {
	w := startWatching(t, someCluster(), true, "--watch=100ms", "--json")
	w.next(100 * time.Millisecond)
	if got := w.out.new(); strings.Count(got, `{"cluster":`) != 2 || strings.Count(got, "\n") != 2 || strings.Contains(got, eraseScreen) {
		t.Errorf("printed %q", got)
	}
	w.stop(t)
}

func TestWatchIsInterruptedWhileItAsks(t *testing.T) {
	s, asking := someCluster(), make(chan struct{}, 1)
	s.fail = func(ctx context.Context, call string) error {
		if call != "members" {
			return nil
		}
		asking <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	}
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	var out, complaints notes
	go func() {
		o := &outside{operate: s.operate, clock: clocktest.NewManual(noon), terminal: func(any) bool { return false }}
		ended <- newProgram(ownPaths(), o).run(ctx, []string{"flakeward", "status", "--cluster", "--watch"}, nil, &out, &complaints)
	}()
	<-asking
	interrupt()
	if err := <-ended; err != nil || complaints.new() != "" || out.new() != "" {
		t.Errorf("ended with %v", err)
	}
}

func TestWatchEndsWhenNobodyReads(t *testing.T) {
	s := someCluster()
	o := &outside{operate: s.operate, clock: clocktest.NewManual(noon), terminal: func(any) bool { return false }}
	err := newProgram(ownPaths(), o).run(t.Context(), []string{"flakeward", "status", "--cluster", "--watch"}, nil, full{}, &notes{})
	checkError(t, err, "writing the status: the disk is full", ExitFailed)
}

// full is an output that takes nothing.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }
