package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/process"
)

// TestMain plays the daemon when it is started as one. Its last argument says how.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "daemon" {
		os.Exit(daemon(os.Args[len(os.Args)-1]))
	}
	os.Exit(m.Run())
}

func daemon(how string) int {
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	fmt.Fprintln(os.Stderr, `{"@level":"info","@message":"ready","@module":"flakeward"}`)
	switch how {
	case "fails":
		fmt.Fprintln(os.Stderr, "panic: no JSON")
		return 3
	case "dirty":
		<-terminated
		return 4
	case "busy":
		for range 8 {
			go func() {
				runtime.LockOSThread()
				for {
					_ = os.Getppid()
				}
			}()
		}
	case "deaf":
		<-terminated
		fmt.Fprintln(os.Stderr, `{"@message":"deaf"}`)
		select {}
	}
	clock, _ := os.ReadFile(os.Getenv(fault.Clock))
	fmt.Fprintf(os.Stderr, "{\"@message\":%q}\n", "clock "+strings.TrimSpace(string(clock))+os.Getenv("FLAKEWARD_LAYOUT"))
	<-terminated
	return 0
}

func start(t *testing.T, how string) (*process.Host, *process.Daemon) {
	t.Helper()
	host := newHost(t, how)
	d, err := host.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return host, d
}

func newHost(t *testing.T, how string) *process.Host {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host, err := process.NewHost(self, filepath.Join(t.TempDir(), "host"), how)
	if err != nil {
		t.Fatal(err)
	}
	return host
}

func TestKill(t *testing.T) {
	_, d := start(t, "well")
	if err := d.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	if err := d.Await(t.Context(), "ready"); err != nil { // it was said before
		t.Fatal(err)
	}
	if err := d.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := d.Await(t.Context(), "never"); !errors.Is(err, process.ErrEnded) {
		t.Errorf("%v, want ErrEnded", err)
	}
	if err := d.Kill(); !errors.Is(err, process.ErrEnded) {
		t.Errorf("killed twice: %v, want ErrEnded", err)
	}
}

func TestStop(t *testing.T) {
	_, d := start(t, "well")
	if err := d.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	_, d = start(t, "dirty")
	if err := d.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	if err := d.Stop(t.Context()); err == nil {
		t.Error("a daemon that ends with status 4 was stopped in order")
	}
}

func TestStopOfOneThatDoesNot(t *testing.T) {
	_, d := start(t, "deaf")
	if err := d.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan error)
	go func() { stopped <- d.Stop(ctx) }()
	if err := d.Await(t.Context(), "deaf"); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-stopped; !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want that it was given up", err)
	}
}

// A daemon that is paused does not even notice that it is to stop.
func TestPause(t *testing.T) {
	_, d := start(t, "well")
	if err := d.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	if err := d.Pause(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error)
	go func() { stopped <- d.Stop(t.Context()) }()
	shortly, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	select {
	case err := <-stopped:
		t.Fatalf("it stopped while it was paused: %v", err)
	case <-shortly.Done():
	}
	if err := d.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
	if err := d.Pause(); err == nil {
		t.Error("a process that is gone was paused")
	}
}

func TestEndByItself(t *testing.T) {
	_, d := start(t, "fails")
	<-d.Ended()
	if err := d.Kill(); !errors.Is(err, process.ErrEnded) || !strings.Contains(err.Error(), "panic: no JSON") {
		t.Errorf("%v, want ErrEnded and the log", err)
	}
}

func TestDump(t *testing.T) {
	host, d := start(t, "well")
	if err := d.Await(t.Context(), "ready"); err != nil {
		t.Fatal(err)
	}
	d.Dump()
	log, err := os.ReadFile(host.Log)
	if err != nil || !strings.Contains(string(log), `"@message":"ready"`) || !strings.Contains(string(log), "process_test.daemon") {
		t.Errorf("the log is %q, %v: want what was said and what the goroutines did", log, err)
	}
}

func TestContextEndsTheDaemon(t *testing.T) {
	host := newHost(t, "well")
	ctx, cancel := context.WithCancel(t.Context())
	d, err := host.Start(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	<-d.Ended()
	if err := d.Await(ctx, "never"); err == nil {
		t.Error("no error")
	}
}

func TestClock(t *testing.T) {
	t.Setenv("FLAKEWARD_LAYOUT", "sonyflake") // must not reach the daemon
	host := newHost(t, "well")
	if err := host.Clock.Set(-90 * time.Minute); err != nil {
		t.Fatal(err)
	}
	if got := host.Clock.Offset(); got != -90*time.Minute {
		t.Errorf("offset %v", got)
	}
	d, err := host.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Await(t.Context(), "clock -1h30m0s"); err != nil {
		t.Fatal(err)
	}
	if err := d.Kill(); err != nil {
		t.Error(err)
	}
}
