// Package zktest gives tests real ZooKeeper servers: ensembles of their own, to be stopped, killed,
// paused, wiped and restored, and one server for all tests of a package that only want a tree.
package zktest

import (
	"context"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

// Options say what servers to start: one with a plain port, if zero.
type Options = zkserver.Options

// TLS are the PEM files of servers that speak TLS.
type TLS = zkserver.TLS

// timeout is how long servers may take for anything. They take well below a second,
// except for machines that are busy with something else.
const timeout = 4 * time.Minute

// Ensemble is ZooKeeper for one test. Each method that does not return an error ends
// the test when it fails, so it is to be called by the test's own goroutine.
type Ensemble struct {
	*zkserver.Ensemble
	t       testing.TB
	shared  bool
	backups int
}

// Start starts servers, which serve when it returns, and has them end with the test.
func Start(t testing.TB, options Options) *Ensemble {
	t.Helper()
	need.That(t, zkserver.Installed())
	servers := must.Get(zkserver.New(t.TempDir(), options))(t)
	t.Cleanup(func() {
		if err := servers.Close(); err != nil {
			t.Error(err)
		}
	})
	e := &Ensemble{Ensemble: servers, t: t}
	e.Start()
	return e
}

// try ends the test if f fails.
func (e *Ensemble) try(f func(context.Context) error) {
	e.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), timeout) // the test's own is over in its Cleanup
	defer cancel()
	must.Do(e.t, f(ctx))
}

// change is try for what other tests must not see.
func (e *Ensemble) change(f func(context.Context) error) {
	e.t.Helper()
	if e.shared {
		e.t.Fatal("this server is all tests': take one of your own, by zktest.Start")
	}
	e.try(f)
}

// Start starts the given members, or all, on the data that they have. If a majority
// runs then, the started ones serve when it returns.
func (e *Ensemble) Start(members ...int) {
	e.t.Helper()
	e.change(func(ctx context.Context) error { return e.Ensemble.Start(ctx, members...) })
}

// Ready waits until each of the given members, or all that run, serves.
func (e *Ensemble) Ready(members ...int) {
	e.t.Helper()
	e.try(func(ctx context.Context) error { return e.Ensemble.Ready(ctx, members...) })
}

// Stop ends the given members, or all, in order (SIGTERM), and waits for their end.
func (e *Ensemble) Stop(members ...int) {
	e.t.Helper()
	e.change(func(ctx context.Context) error { return e.Ensemble.Stop(ctx, members...) })
}

// Kill ends the given members, or all, at once (SIGKILL).
func (e *Ensemble) Kill(members ...int) {
	e.t.Helper()
	e.change(func(context.Context) error { return e.Ensemble.Kill(members...) })
}

// Pause stops the given members, or all, where they are (SIGSTOP), until Resume.
func (e *Ensemble) Pause(members ...int) {
	e.t.Helper()
	e.change(func(context.Context) error { return e.Ensemble.Pause(members...) })
}

// Resume lets the given members, or all, go on after Pause.
func (e *Ensemble) Resume(members ...int) {
	e.t.Helper()
	e.change(func(context.Context) error { return e.Ensemble.Resume(members...) })
}

// Leader waits until one of the members that run leads, and says which.
func (e *Ensemble) Leader() int {
	e.t.Helper()
	var leader int
	e.try(func(ctx context.Context) (err error) {
		leader, err = e.Ensemble.Leader(ctx)
		return err
	})
	return leader
}

// Wipe deletes the data of all members, which must be stopped.
func (e *Ensemble) Wipe() {
	e.t.Helper()
	e.change(func(context.Context) error { return e.Ensemble.Wipe() })
}

// Backup is a copy of all members' data.
type Backup struct{ dir string }

// Backup copies the data of all members, which must be stopped. The copy lasts as long as the test.
func (e *Ensemble) Backup() Backup {
	e.t.Helper()
	e.backups++
	b := Backup{dir: filepath.Join(e.t.TempDir(), strconv.Itoa(e.backups))}
	e.change(func(context.Context) error { return e.Ensemble.Backup(b.dir) })
	return b
}

// Restore replaces the data of all members, which must be stopped, by those of the backup.
func (e *Ensemble) Restore(b Backup) {
	e.t.Helper()
	e.change(func(context.Context) error { return e.Ensemble.Restore(b.dir) })
}
