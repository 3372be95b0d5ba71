package daemon_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/internal/logtest"
)

// running is a daemon in this process, on a real coordinator and a real socket.
type running struct {
	t      *testing.T
	config daemon.Config
	client *redis.Client
	log    *logtest.Buffer
	ready  chan struct{}
	cancel context.CancelFunc
	ended  chan error
}

// dir is a directory whose path is short enough for a socket in it.
func dir(t *testing.T) string {
	t.Helper()
	d, err := os.MkdirTemp("", "fw")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(d); err != nil {
			t.Error(err)
		}
	})
	return d
}

// config is a daemon's with everything in d. The journal's step is short, so that restarts are;
// where the disk is slow, requests wait for it.
func config(d string) daemon.Config {
	c := daemon.DefaultConfig()
	c.Socket.Path = filepath.Join(d, "s")
	c.StateDir = filepath.Join(d, "state")
	c.Host = "host"
	c.Grant.Step = 100 * time.Millisecond
	c.Waiting.MaxBlock = timeout
	return c
}

// launch starts a daemon and does not wait for it.
func launch(t *testing.T, c daemon.Config) *running {
	t.Helper()
	return launchBy(t, c, daemon.Run)
}

func launchBy(t *testing.T, c daemon.Config, run func(context.Context, daemon.Config) error) *running {
	t.Helper()
	r := &running{t: t, log: &logtest.Buffer{}, ready: make(chan struct{}), ended: make(chan error, 1)}
	c.Log = hclog.New(&hclog.LoggerOptions{Output: r.log, Level: hclog.Debug})
	c.Ready = func() { close(r.ready) }
	c.Version = "test"
	r.config = c
	r.client = redis.NewClient(&redis.Options{Network: "unix", Addr: c.Socket.Path, MaxRetries: -1, ReadTimeout: time.Minute})
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go func() { r.ended <- run(ctx, c) }()
	t.Cleanup(func() {
		r.cancel()
		_ = r.client.Close()
		if err := <-r.ended; err != nil && !t.Failed() {
			t.Errorf("the daemon ended with %v", err)
		}
	})
	return r
}

// start starts a daemon and waits until it can issue.
func start(t *testing.T, c daemon.Config) *running {
	t.Helper()
	return startBy(t, c, daemon.Run)
}

func startBy(t *testing.T, c daemon.Config, run func(context.Context, daemon.Config) error) *running {
	t.Helper()
	r := launchBy(t, c, run)
	r.untilReady()
	return r
}

func (r *running) untilReady() {
	r.t.Helper()
	select {
	case <-r.ready:
	case err := <-r.ended:
		r.ended <- nil
		r.t.Fatalf("the daemon ended with %v; its log:\n%s", err, r.log)
	}
}

// end waits for a daemon that stops by itself and returns why it did.
func (r *running) end() error {
	err := <-r.ended
	r.ended <- nil
	return err
}

// stop stops the daemon as SIGTERM does.
func (r *running) stop() {
	r.t.Helper()
	r.cancel()
	if err := r.end(); err != nil {
		r.t.Fatalf("the daemon ended with %v; its log:\n%s", err, r.log)
	}
}

func (r *running) do(args ...any) (any, error) {
	return r.client.Do(r.t.Context(), args...).Result()
}

func (r *running) next() int64 {
	r.t.Helper()
	id, err := r.client.Do(r.t.Context(), "NEXT").Int64()
	if err != nil {
		r.t.Fatalf("NEXT: %v; the log:\n%s", err, r.log)
	}
	return id
}

// info is INFO as a map.
func (r *running) info() map[string]string {
	r.t.Helper()
	text, err := r.client.Info(r.t.Context()).Result()
	if err != nil {
		r.t.Fatal(err)
	}
	m := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			m[key] = value
		}
	}
	return m
}

// journalOf reads the journal of a daemon that has ended.
func journalOf(t *testing.T, c daemon.Config) journal.Contents {
	t.Helper()
	d, err := journal.OpenDir(c.StateDir, place.Host{})
	if err != nil {
		t.Fatal(err)
	}
	contents, err := d.Read()
	if err := errors.Join(err, d.Close()); err != nil {
		t.Fatal(err)
	}
	return contents
}
