package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

// A start that waits for what a lost state directory may have issued leaves that to the next one, if
// it is stopped meanwhile. The wait ends once the clock has passed the change.
func TestTheWaitForALostStateDirectoryIsKeptAndEnds(t *testing.T) {
	t.Parallel()
	c := config(dir(t))
	above := t.TempDir()
	c.StateDir = filepath.Join(above, "state")
	at := time.Now().Add(4 * time.Second)
	must.Do(t, os.Chtimes(above, at, at))
	for range 2 {
		r := launch(t, c)
		r.says("as one that was lost may have issued IDs")
		r.Stop()
		long := time.Now().Add(-time.Hour)
		must.Do(t, os.Chtimes(above, long, long), os.Chtimes(c.StateDir, long, long))
	}
	r := launch(t, c)
	r.says("as one that was lost may have issued IDs")
	r.UntilReady()
	if now := time.Now(); now.Before(at) {
		t.Errorf("ready at %v, before %v", now, at)
	}
	r.Stop()
}

// A daemon whose state directory is removed goes on until its next write of the journal. Who starts in
// its place waits for that, though the clock is right, and repeats nothing.
func TestADirectoryThatIsRemovedUnderADaemonIsOutwaited(t *testing.T) {
	c := config(dir(t))
	c.Waiting.MaxBlock = 100 * time.Millisecond
	onlyWorker(t, &c)
	before, seen := launchBy(t, c, func(ctx context.Context, c daemon.Config) error {
		_ = daemon.Run(ctx, c) // it ends with the directory that it cannot give back anything in
		return nil
	}), map[int64]bool{}
	before.UntilReady()
	before.all(seen)
	must.Do(t, os.RemoveAll(c.StateDir))
	place := c.StateDir
	c = config(dir(t))
	c.StateDir = place
	onlyWorker(t, &c)
	after := launch(t, c)
	after.says("as one that was lost may have issued IDs")
	for ids, err := []int64(nil), error(nil); err == nil; {
		if ids, err = before.client.Do(t.Context(), "NEXT", 4096).Int64Slice(); err == nil {
			for _, id := range ids {
				seen[id] = true
			}
		}
	}
	after.UntilReady()
	if again := after.all(seen); again > 0 {
		t.Errorf("%d IDs came twice", again)
	}
}
