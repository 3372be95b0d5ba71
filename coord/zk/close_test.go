package zk_test

import (
	"context"
	"errors"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// Nothing is left of a coordinator that was closed, whatever its servers do: calls
// that were given up, the library's goroutines, its own.
func TestNothingIsLeft(t *testing.T) {
	e := zktest.Start(t, zktest.Options{})
	mute, _ := silent(t)
	// What other tests started has ended before a test that is not parallel; those
	// of HTTP and the like have not.
	before := runtime.NumGoroutine()
	for name, during := range map[string]func(){
		"no server was ever there": func() {},
		"a server says nothing":    func() {},
		"servers stopped":          func() { e.Stop() },
		"servers paused":           func() { e.Pause() },
		"servers are there":        func() {},
	} {
		servers, config := zk.Servers{Addresses: e.Addresses(), Chroot: "/left"}, zk.Config{Identity: identity()}
		switch name {
		case "no server was ever there":
			servers.Addresses, config.TryTimeout = []string{nobody(t)}, time.Second
		case "a server says nothing":
			servers.Addresses, config.TryTimeout = []string{mute}, time.Second
		}
		c := dial(t, servers, config)
		if _, err := coordtest.CreateAndJoin(t.Context(), c, layout); (err == nil) != strings.Contains(name, "servers") {
			t.Errorf("%s: join: %v", name, err)
		}
		during()
		if name == "servers paused" {
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			_, err := zk.Store(c).Look(ctx) // one that ignores ctx hangs the test here
			cancel()
			if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "answers nothing") {
				t.Errorf("%s: %v", name, err)
			}
		}
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
				defer cancel()
				_, _ = zk.Store(c).Look(ctx)
			})
		}
		calls.Wait()
		start := time.Now()
		err := c.Close()
		took := time.Since(start)
		t.Logf("%s: closed in %v: %v", name, took, err)
		if took > 5*time.Second {
			t.Errorf("%s: Close took %v", name, took)
		}
		switch name {
		case "servers stopped":
			e.Start()
		case "servers paused":
			e.Resume()
		}
		eventually(t, name+": no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	}
}

// nobody is an address where nothing listens.
func nobody(t testing.TB) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	return l.Addr().String()
}

// An error says what failed also if it was one of many requests at once.
func TestErrorsOfListings(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	c, _ := joined(t, zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot()}, zk.Config{})
	claimed(t, c, 3)
	s := zk.Store(c)
	entry := must.Get(s.Look(t.Context()))(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	zk.Intercept(c, func(k zk.Kind, send func() error) error {
		if k == "read a claim" {
			cancel()
			<-ctx.Done()
		}
		return send()
	})
	if _, err := s.Claims(ctx, entry, true); !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), s.Name()+": ") {
		t.Errorf("%v", err)
	}
}
