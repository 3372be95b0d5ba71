package ask

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// running is a Run in this process.
type running struct {
	t      *testing.T
	path   string // of its log
	cancel context.CancelFunc
	ended  chan error
	tail   *evidence.Tail
}

func begin(t *testing.T, c Config) *running {
	t.Helper()
	before := logs(t, c.Out)
	ctx, cancel := context.WithCancel(context.Background())
	r := &running{t: t, cancel: cancel, ended: make(chan error, 1)}
	go func() { r.ended <- Run(ctx, c) }()
	t.Cleanup(func() { cancel(); <-r.ended })
	for r.path == "" {
		r.pause()
		if now := logs(t, c.Out); len(now) > len(before) {
			r.path = now[len(now)-1]
		}
	}
	var err error
	if r.tail, err = evidence.OpenTail(r.path); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.tail.Close() })
	return r
}

func logs(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.replies"))
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// pause is until files are looked at again.
func (r *running) pause() {
	r.t.Helper()
	select {
	case <-time.After(5 * time.Millisecond):
	case err := <-r.ended:
		r.ended <- nil
		r.t.Fatalf("it ended: %v", err)
	}
}

// await waits for an outcome in each of the four ways, from now on.
func (r *running) await(outcome evidence.Outcome) {
	r.t.Helper()
	from := evidence.Now()
	seen := map[evidence.Asking]bool{}
	for len(seen) < 4 {
		e, ok, err := r.tail.Next()
		if err != nil {
			r.t.Fatal(err)
		}
		if !ok {
			r.pause()
			continue
		}
		if e.Outcome == outcome && e.Asked >= from {
			seen[e.Asking] = true
		}
	}
}

// end stops it and returns all that it recorded.
func (r *running) end() []evidence.Reply {
	r.t.Helper()
	r.cancel()
	err := <-r.ended
	r.ended <- nil
	if err != nil {
		r.t.Fatal(err)
	}
	var all []evidence.Reply
	if err := evidence.ReadReplies(r.path, func(e evidence.Reply) error { all = append(all, e); return nil }); err != nil {
		r.t.Fatal(err)
	}
	return all
}

// A daemon that is stopped in order under load answers all that it read, and nobody else's requests
// are sent: not one is lost but those that it closed a connection on unread. The one that follows
// is found, all IDs are there once, and another Run has a log of its own.
func TestCleanStopsUnderLoad(t *testing.T) {
	dir := sockettest.Dir(t)
	c := DefaultConfig()
	c.Socket, c.Out, c.Seed, c.Load = filepath.Join(dir, "s"), filepath.Join(dir, "out"), 1, 2
	c.Grace = time.Minute
	seen := map[int64]bool{}
	for range 2 {
		r := begin(t, c)
		r.await(evidence.Unsent)
		for range 3 {
			d := daemontest.Start(t, daemontest.Config(dir))
			r.await(evidence.Got)
			d.Stop()
			r.await(evidence.Unsent)
		}
		d := daemontest.Start(t, daemontest.Config(dir))
		r.await(evidence.Got)
		all := r.end()
		d.Stop()
		connections := map[uint32]evidence.Asking{}
		for _, e := range all {
			switch {
			case e.Outcome == evidence.Lost || e.Outcome == evidence.Refused:
				t.Errorf("%+v", e)
			case e.Outcome == evidence.Got:
				want := map[evidence.Asking]int{evidence.Single: 1, evidence.Pipelined: 1, evidence.Batch: 100, evidence.InRuns: 1000}[e.Asking]
				ids := expand(e.IDs)
				if len(ids) != want {
					t.Errorf("%d IDs: %+v", len(ids), e)
				}
				for _, id := range ids {
					if seen[id] {
						t.Errorf("%d twice", id)
					}
					seen[id] = true
				}
				if a, known := connections[e.Connection]; known && a != e.Asking || e.Connection == 0 {
					t.Errorf("connection %d is of two kinds", e.Connection)
				}
				connections[e.Connection] = e.Asking
			}
		}
		if len(connections) != 16 {
			t.Errorf("%d connections got IDs, want one of each kind to each of 4 daemons", len(connections))
		}
	}
	if n := len(logs(t, c.Out)); n != 2 {
		t.Errorf("%d logs of 2 runs", n)
	}
}

func TestRunThatCannotRecord(t *testing.T) {
	c := DefaultConfig()
	c.Socket, c.Out = "none", filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(c.Out, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Run(t.Context(), c); err == nil {
		t.Error("no error")
	}
}

// A log that cannot be written any more ends the Run, which has many askers that wait for it.
func TestRecorderThatFails(t *testing.T) {
	ctx, fail := context.WithCancelCause(t.Context())
	r, err := startRecorder(filepath.Join(t.TempDir(), "a.replies"), fail)
	if err != nil {
		t.Fatal(err)
	}
	r.add(evidence.Reply{}) // impossible
	<-ctx.Done()
	for range 2 * queued {
		r.add(evidence.Reply{Asking: evidence.Single, Outcome: evidence.Got})
	}
	if err := r.close(); err == nil || !errors.Is(err, context.Cause(ctx)) {
		t.Errorf("%v, and the cause is %v", err, context.Cause(ctx))
	}
}

func TestValidate(t *testing.T) {
	good := DefaultConfig()
	good.Socket, good.Out = "s", "o"
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
	for name, change := range map[string]func(*Config){
		"socket":   func(c *Config) { c.Socket = "" },
		"out":      func(c *Config) { c.Out = "" },
		"load":     func(c *Config) { c.Load = 0 },
		"nothing":  func(c *Config) { c.Rates = Rates{Pipeline: 1, BatchIDs: 1, RunIDs: 1} },
		"negative": func(c *Config) { c.Rates.Single = -1 },
		"count":    func(c *Config) { c.Rates.RunIDs = 0 },
		"timeout":  func(c *Config) { c.Timeout = 0 },
		"grace":    func(c *Config) { c.Grace = -1 },
	} {
		c := good
		change(&c)
		if err := c.Validate(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
