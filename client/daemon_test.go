package client_test

import (
	"testing"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

const (
	roomy    = "time=38@1ms,worker=4,sequence=21;epoch=2026-01-01"
	stepped  = "time=41@1ms,sequence=12,worker=10;epoch=2026-01-01"
	tenanted = "time=40@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01"
)

func dir(t testing.TB) string { t.Helper(); return sockettest.Dir(t) }

// start starts a daemon with everything in d, and waits until it can issue.
func start(t testing.TB, d, layout string) *daemontest.Daemon {
	t.Helper()
	c := daemontest.Config(d)
	c.IDs.Layout = layout
	return daemontest.Start(t, c)
}

// open opens a client that is closed with the test.
func open(t testing.TB, socket string, opts ...client.Option) *client.Client {
	t.Helper()
	c := must.Get(client.Open(socket, opts...))(t)
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return c
}
