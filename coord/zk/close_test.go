package zk_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// Close frees the claims at once.
func TestCloseEndsTheSession(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	servers := zk.Servers{Addresses: e.Addresses(), Chroot: e.Chroot()}
	other, _ := joined(t, servers, zk.Config{})
	worker := 0
	closed, claim := coordtest.CloseInTime(t, func() (coord.Coordinator, coord.Claim) {
		c, _ := joined(t, servers, zk.Config{Identity: coord.Identity{Host: rand.Text(), Incarnation: rand.Text()}})
		worker++
		return c, claimed(t, c, worker)
	})
	c := closed.(*zk.Coordinator)
	ms, err := other.Members(t.Context())
	if err != nil || slices.ContainsFunc(ms, func(m coord.Member) bool { return m.Claim == claim.Name() }) {
		t.Errorf("after Close: %+v, %v", ms, err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("once more: %v", err)
	}
	if _, err := zk.Store(c).Look(t.Context()); !errors.Is(err, coord.ErrClosed) {
		t.Errorf("after Close: %v, want ErrClosed", err)
	}
}

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

// Every call of the store ends with its context, also one that the library holds.
func TestCallsEndWithTheirContext(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{})
	c, _ := joined(t, zk.Servers{Addresses: e.Addresses()}, zk.Config{TryTimeout: time.Hour})
	s := zk.Store(c)
	entry := must.Get(s.Look(t.Context()))(t)
	node := claims.Node{Name: "0000003-inc-tok-0000000001", Worker: 3}
	calls := map[string]func(context.Context) error{
		"Look":    func(ctx context.Context) error { _, err := s.Look(ctx); return err },
		"Make":    func(ctx context.Context) error { _, err := s.Make(ctx, []byte("x")); return err },
		"Replace": func(ctx context.Context) error { _, err := s.Replace(ctx, entry, []byte("x")); return err },
		"Create":  func(ctx context.Context) error { _, err := s.Create(ctx, entry, claimant(3)); return err },
		"Write": func(ctx context.Context) error {
			_, err := s.Write(ctx, entry, claims.Write{Doing: "write", Worker: node.Worker, Claim: node.Name})
			return err
		},
		"Delete": func(ctx context.Context) error { return s.Delete(ctx, node.Name) },
		"Claims": func(ctx context.Context) error { _, err := s.Claims(ctx, entry, true); return err },
		"Read":   func(ctx context.Context) error { _, err := s.Read(ctx, entry, claims.RecordOf(3)); return err },
	}
	e.Pause()
	defer e.Resume()
	for name, call := range calls {
		if err := call(ended()); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with an ended context: %v", name, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		err := call(ctx) // one that ignores ctx hangs the test here
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "answers nothing") || strings.Contains(err.Error(), "1h0m0s") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// ended is a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
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
	zk.Intercept(c, func(k zk.Kind, send func() error) error {
		if k == "read a record" {
			return coordtest.ErrFault
		}
		return send()
	})
	if err := s.Records(t.Context(), entry, 0, func(int, claims.Entry) bool { return true }); !errors.Is(err, coordtest.ErrFault) || !strings.Contains(err.Error(), ": read a record: "+s.Path(claims.RecordOf(3))) {
		t.Errorf("%v", err)
	}
}
