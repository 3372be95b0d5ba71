package daemon_test

import (
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/internal/must"
)

// A start that waits for what a lost state directory may have issued leaves that to the next one, if
// it is stopped meanwhile. If the clock is put right, nobody waits any longer.
func TestTheWaitForALostStateDirectoryIsKeptAndEnds(t *testing.T) {
	c := config(dir(t))
	above := t.TempDir()
	c.StateDir = filepath.Join(above, "state")
	at := time.Now().Add(time.Minute)
	must.Do(t, os.Chtimes(above, at, at))
	clock := &set{}
	c.Clock = clock
	for range 2 {
		r := launch(t, c)
		r.says("waiting, as a lost one may have issued IDs")
		r.Stop()
		long := time.Now().Add(-time.Hour)
		must.Do(t, os.Chtimes(above, long, long))
	}
	r := launch(t, c)
	r.says("waiting, as a lost one may have issued IDs")
	clock.by.Store(int64(2 * time.Minute))
	r.UntilReady()
	r.Stop()
}

// set is a wall clock that is set ahead.
type set struct {
	clockguard.System
	by atomic.Int64
}

func (s *set) Now() clockguard.Reading {
	now := s.System.Now()
	now.Wall += s.by.Load()
	return now
}
