package realtime

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/process"
)

// waits makes the test program wait until its input ends, in place of testing.
const waits = "FLAKEWARD_TEST_WAITS"

func TestMain(m *testing.M) {
	if os.Getenv(waits) != "" {
		fmt.Println("here")
		_, _ = os.Stdin.Read(make([]byte, 1))
		return
	}
	os.Exit(m.Run())
}

// All threads of a process get real-time priority, and this process's own stay what they were.
func TestProcess(t *testing.T) {
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), waits+"=1")
	c.SysProcAttr = process.Orphanless()
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = in.Close()
		_ = c.Wait()
	}()
	if _, err := out.Read(make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	if err := Process(c.Process.Pid); Refused(err) {
		if os.Getenv("CI") != "" {
			t.Fatal(err)
		}
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	policies := func(pid int) (all []uint32) {
		threads, err := threadsOf(pid)
		if err != nil {
			t.Fatal(err)
		}
		for _, id := range threads {
			if a, err := unix.SchedGetAttr(id, 0); err == nil { // else the thread is gone
				all = append(all, a.Policy)
			}
		}
		return all
	}
	theirs := policies(c.Process.Pid)
	if len(theirs) < 2 {
		t.Errorf("a Go program has %d threads", len(theirs))
	}
	for _, p := range theirs {
		if p != unix.SCHED_RR {
			t.Errorf("of the process's threads, one has the policy %d: %v", p, theirs)
		}
	}
	for _, p := range policies(os.Getpid()) {
		if p == unix.SCHED_RR {
			t.Error("a thread of this process has real-time priority")
		}
	}
}

func TestRefused(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{fmt.Errorf("x: %w", unix.EPERM), true},
		{fmt.Errorf("x: %w", errors.ErrUnsupported), true},
		{fmt.Errorf("x: %w", unix.EINVAL), false},
		{nil, false},
	} {
		if got := Refused(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
	if err := Process(1 << 30); err == nil || Refused(err) {
		t.Errorf("of a process that is none: %v", err)
	}
}
