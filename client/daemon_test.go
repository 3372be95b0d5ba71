package client_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/logtest"
)

const (
	roomy    = "time=38@1ms,worker=4,sequence=21;epoch=2026-01-01"
	stepped  = "time=41@1ms,sequence=12,worker=10;epoch=2026-01-01"
	tenanted = "time=40@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01"
)

// timeout bounds a wait for what takes well below a second.
const timeout = time.Minute

// dir is a directory whose path is short enough for a socket in it.
func dir(t testing.TB) string {
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

// running is a daemon in this process.
type running struct {
	t      testing.TB
	config daemon.Config
	log    *logtest.Buffer
	cancel context.CancelFunc
	ended  chan error
}

// start starts a daemon with everything in d, and waits until it can issue.
func start(t testing.TB, d, layout string) *running {
	t.Helper()
	r := &running{t: t, log: &logtest.Buffer{}, config: daemon.DefaultConfig()}
	c := &r.config
	c.Socket.Path = filepath.Join(d, "s")
	c.StateDir = filepath.Join(d, "state")
	c.Host = "host"
	c.IDs.Layout = layout
	c.Grant.Step = 100 * time.Millisecond
	c.Waiting.MaxBlock = timeout // the disk may be slow
	c.Log = hclog.New(&hclog.LoggerOptions{Output: r.log, Level: hclog.Debug})
	r.start()
	t.Cleanup(r.stop)
	return r
}

func (r *running) start() {
	r.t.Helper()
	ready := make(chan struct{})
	r.config.Ready = func() { close(ready) }
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	r.ended = make(chan error, 1)
	ended := r.ended
	go func() { ended <- daemon.Run(ctx, r.config) }()
	select {
	case <-ready:
	case err := <-ended:
		ended <- nil
		r.t.Fatalf("the daemon ended with %v; its log:\n%s", err, r.log)
	}
}

// stop stops the daemon as SIGTERM does.
func (r *running) stop() {
	r.cancel()
	if err := <-r.ended; err != nil {
		r.t.Errorf("the daemon ended with %v; its log:\n%s", err, r.log)
	}
	r.ended <- nil
}

// open opens a client that is closed with the test.
func open(t testing.TB, socket string, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Open(socket, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
