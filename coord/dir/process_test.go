package dir_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/internal/must"
)

// opened is a coordinator that is closed with the test.
func opened(t *testing.T, path, host string, workers int) *dir.Coordinator {
	t.Helper()
	c := must.Get(join(t.Context(), path, host, workers))(t)
	t.Cleanup(func() { must.Do(t, c.Close()) })
	return c
}

func fresh() coord.Request {
	return coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40, Fresh: true}
}

// members are the worker IDs that are held.
func members(t *testing.T, c *dir.Coordinator) []coord.Member {
	t.Helper()
	return must.Get(c.Members(t.Context()))(t)
}

func TestAKilledProcessFreesItsClaimAtOnce(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "coord")
	c := opened(t, path, "a", 2)
	p := start(t, "claim", path)
	worker := must.Get(strconv.Atoi(p.says(t, "claimed")))(t)
	if all := members(t, c); len(all) != 1 || all[0].Worker != worker || all[0].PID != p.cmd.Process.Pid {
		t.Fatalf("the members are %+v", all)
	}
	p.kill()
	if all := members(t, c); len(all) != 0 {
		t.Errorf("the members are %+v, want none", all)
	}
	if left := must.Get(filepath.Glob(filepath.Join(path, "spare-*")))(t); len(left) != 0 {
		t.Errorf("it left %v", left)
	}
	claim := must.Get(c.Claim(t.Context(), coord.Request{Worker: worker, Latest: 1 << 40}))(t)
	if claim.Worker() != worker {
		t.Errorf("worker ID %d, want %d", claim.Worker(), worker)
	}
}

func TestAStoppedProcessKeepsItsClaim(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "coord")
	c := opened(t, path, "a", 2)
	p := start(t, "claim", path)
	worker := must.Get(strconv.Atoi(p.says(t, "claimed")))(t)
	p.signal(t, unix.SIGSTOP)
	p.stopped(t)
	for range 2 {
		if all := members(t, c); len(all) != 1 || all[0].Worker != worker {
			t.Fatalf("the members are %+v, want worker ID %d's", all, worker)
		}
	}
	claim := must.Get(c.Claim(t.Context(), coord.Request{Worker: worker, Latest: 1 << 40}))(t)
	if claim.Worker() == worker {
		t.Errorf("worker ID %d is held twice", worker)
	}
	p.signal(t, unix.SIGCONT)
	p.resume(t)
	p.says(t, "extended")
}

func TestAProcessThatStopsInTheLockIsNamed(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "coord")
	c := opened(t, path, "a", 2)
	claim := must.Get(c.Claim(t.Context(), fresh()))(t)
	p := start(t, "stop", path)
	p.says(t, "claimed")
	p.resume(t)
	p.stopped(t)
	holder := "another process"
	if runtime.GOOS == "linux" {
		holder = "process " + strconv.Itoa(p.cmd.Process.Pid)
	}
	for _, ask := range []func(context.Context) error{
		func(ctx context.Context) error { return claim.Extend(ctx, coord.Progress{Ceiling: 500}) },
		func(ctx context.Context) error { _, err := c.Members(ctx); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		err := ask(ctx)
		cancel()
		var busy *dir.Error
		if !errors.As(err, &busy) || busy.Code != dir.CodeBusy || !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), holder+" has") {
			t.Errorf("%v does not name %s", err, holder)
		}
	}
	p.kill() // with the lock
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: 500}))
	if all := members(t, c); len(all) != 1 || all[0].Ceiling != 500 {
		t.Errorf("the members are %+v", all)
	}
	if _, err := os.Lstat(filepath.Join(path, "new")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the dead process's file is there: %v", err)
	}
}
