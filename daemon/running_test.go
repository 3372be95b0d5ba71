package daemon_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// running is a daemon in this process, on a real coordinator and a real socket.
type running struct {
	*daemontest.Daemon
	t      *testing.T
	config daemon.Config
	client *redis.Client
	http   *http.Client // of web; nil: none yet
	log    *logtest.Buffer
}

func dir(t *testing.T) string { t.Helper(); return sockettest.Dir(t) }

func config(d string) daemon.Config { return daemontest.Config(d) }

// launch starts a daemon and does not wait for it.
func launch(t *testing.T, c daemon.Config) *running {
	t.Helper()
	return launchBy(t, c, daemon.Run)
}

func launchBy(t *testing.T, c daemon.Config, run func(context.Context, daemon.Config) error) *running {
	t.Helper()
	d := daemontest.Launch(t, c, run)
	client := redis.NewClient(&redis.Options{Network: "unix", Addr: c.Socket.Path, MaxRetries: -1, ReadTimeout: time.Minute})
	t.Cleanup(func() { _ = client.Close() })
	return &running{Daemon: d, t: t, config: d.Config, client: client, log: d.Log}
}

// start starts a daemon and waits until it can issue.
func start(t *testing.T, c daemon.Config) *running {
	t.Helper()
	return startBy(t, c, daemon.Run)
}

func startBy(t *testing.T, c daemon.Config, run func(context.Context, daemon.Config) error) *running {
	t.Helper()
	r := launchBy(t, c, run)
	r.UntilReady()
	return r
}

// web is a client of HTTP on the daemon's socket.
func (r *running) web() *http.Client {
	r.t.Helper()
	if r.http == nil {
		r.http = overSocket(r.t, r.Daemon)
	}
	return r.http
}

// untilServed waits until somebody listens on the socket, which is before there are IDs.
func (r *running) untilServed() {
	r.t.Helper()
	ctx, stop := context.WithTimeout(r.t.Context(), timeout)
	defer stop()
	for again := time.NewTicker(5 * time.Millisecond); ; <-again.C {
		conn, err := net.Dial("unix", r.config.Socket.Path)
		if err == nil {
			_ = conn.Close()
			return
		}
		if ctx.Err() != nil {
			r.t.Fatalf("nobody listens: %v; the log:\n%s", err, r.log)
		}
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
	text := must.Get(r.client.Info(r.t.Context()).Result())(r.t)
	return info.Parse(text).Map()
}

// journalOf reads the journal of a daemon that has ended.
func journalOf(t *testing.T, c daemon.Config) journal.Contents {
	t.Helper()
	d := must.Get(journal.OpenDir(c.StateDir, place.Host{}))(t)
	contents, err := d.Read()
	must.Do(t, errors.Join(err, d.Close()))
	return contents
}
