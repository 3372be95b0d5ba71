package zk_test

import (
	"net"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
)

// writing counts what is sent over a connection.
type writing struct {
	net.Conn
	bytes *atomic.Int64
}

func (w writing) Write(p []byte) (int, error) {
	w.bytes.Add(int64(len(p)))
	return w.Conn.Write(p)
}

// A copy of a process must neither end the session, which is the original's as well, nor take it
// over by a connection of its own.
func TestDetachSendsNothing(t *testing.T) {
	e := zktest.Start(t, zktest.Options{})
	mute, _ := silent(t)
	observer, _ := joined(t, zk.Servers{Addresses: e.Addresses(), Chroot: "/left"}, zk.Config{})
	before := runtime.NumGoroutine()
	for i, c := range []struct {
		name, user string
		address    string // "": the ensemble's
		during     func(*zk.Line)
		left       bool // the claim is there afterwards
		expires    bool // that is waited for
	}{
		{name: "connected", left: true, expires: true},
		{name: "connected, with a user", user: "u", left: true},
		{name: "connecting anew", left: true, during: func(l *zk.Line) {
			l.Address = nobody(t) // for who dials from now on
			l.Cut()
		}},
		{name: "servers paused", left: true, during: func(*zk.Line) { e.Pause() }},
		{name: "a server says nothing", address: mute},
		{name: "no server was ever there", address: nobody(t)},
	} {
		servers := zk.Servers{Addresses: e.Addresses(), Chroot: "/left"}
		config := zk.Config{Identity: identity(), Timeout: 4 * time.Second, TryTimeout: time.Second}
		if c.user != "" {
			servers.User, servers.Password, servers.Chroot = c.user, "p", "/left-of-a-user"
		}
		if c.address != "" {
			servers.Addresses = []string{c.address}
		}
		var sent atomic.Int64
		line := &zk.Line{Through: func(conn net.Conn) (net.Conn, error) { return writing{conn, &sent}, nil }}
		d := dial(t, servers, config)
		line.Tap(d)
		_, err := coordtest.CreateAndJoin(t.Context(), d, layout)
		if (err == nil) != c.left {
			t.Fatalf("%s: join: %v", c.name, err)
		}
		look := observer
		if c.left {
			claimed(t, d, i)
		}
		if c.user != "" {
			look, _ = joined(t, servers, zk.Config{})
		}
		if c.during != nil {
			c.during(line)
		}
		dialed, said, start := line.Dialed, sent.Load(), time.Now()
		if err := d.Detach(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		took := time.Since(start)
		t.Logf("%s: detached in %v", c.name, took)
		if took > 2*time.Second {
			t.Errorf("%s: Detach took %v", c.name, took)
		}
		if now := sent.Load(); now != said {
			t.Errorf("%s: %d bytes were sent", c.name, now-said)
		}
		if c.name == "servers paused" {
			e.Resume()
		}
		if c.left {
			there := func(m coord.Member) bool { return m.Worker == i }
			if ms, err := look.Members(t.Context()); err != nil || !slices.ContainsFunc(ms, there) {
				t.Errorf("%s: after Detach: %+v, %v", c.name, ms, err)
			}
			if c.expires {
				eventually(t, c.name+": the session expires, for nobody keeps it alive", func() bool {
					ms, err := look.Members(t.Context())
					return err == nil && !slices.ContainsFunc(ms, there)
				})
			}
		}
		if c.user != "" {
			_ = look.Close()
		}
		if line.Dialed != dialed {
			t.Errorf("%s: %d connections were made", c.name, line.Dialed-dialed)
		}
		eventually(t, c.name+": no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	}
}
