package zk_test

import (
	"context"
	"net"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
)

// resets is a connection that is reset before one of its writes, counted from 1.
type resets struct {
	net.Conn
	at, written int32
}

func (r *resets) Write(p []byte) (int, error) {
	if r.written++; r.written == r.at {
		_ = r.Close()
		return 0, &net.OpError{Op: "write", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return r.Conn.Write(p)
}

// A connection is reset before something is written on it. The next one serves, and
// nothing is left that waits: neither a request nor Close.
func TestConnectionIsResetBeforeAWrite(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		user string
		at   int32
	}{
		"the request for the session": {user, 1},
		"the user":                    {user, 2},
		"a request after the user":    {user, 3},
		"a request":                   {"", 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := zktest.Shared(t)
			servers := zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot() + "/own", User: c.user}
			if c.user != "" {
				servers.Password = password
			}
			coordinator, l := dial(t, servers, zk.Config{Identity: identity(), TryTimeout: time.Second}), &zk.Line{}
			var conns atomic.Int32
			l.Through = func(conn net.Conn) (net.Conn, error) {
				if conns.Add(1) == 2 {
					return &resets{Conn: conn, at: c.at}, nil
				}
				return conn, nil
			}
			l.Tap(coordinator)
			coordtest.Join(t, coordinator, layout)
			l.Cut()
			eventually(t, "it is served again, on a third connection", func() bool {
				_, err := coordinator.Members(t.Context())
				return err == nil && conns.Load() > 2
			})
			coordtest.Close(t, coordinator)
		})
	}
}

// A network that ignores its context holds the client library. Close does not wait
// for it for ever, and says what it leaves.
func TestCloseLeavesALibraryThatDoesNotEnd(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	c, l := dial(t, zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot()}, zk.Config{Identity: identity()}), &zk.Line{}
	var conns atomic.Int32
	held, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	l.Through = func(conn net.Conn) (net.Conn, error) {
		if conns.Add(1) == 2 {
			close(held)
			<-release
		}
		return conn, nil
	}
	l.Tap(c)
	coordtest.Join(t, c, layout)
	l.Cut()
	<-held
	closed := make(chan error, 1)
	start := time.Now()
	go func() { closed <- c.Close() }()
	bound, cancel := context.WithTimeout(t.Context(), farTooLong)
	defer cancel()
	select {
	case err := <-closed:
		t.Logf("closed in %v: %v", time.Since(start), err)
		if err == nil || !strings.Contains(err.Error(), "does not end and is left behind") {
			t.Errorf("%v; want what is left", err)
		}
	case <-bound.Done():
		t.Error("Close waits for a library that does not end")
	}
}
