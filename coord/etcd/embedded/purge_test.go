package embedded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/etcd/server/v3/storage/wal"

	"github.com/flakeward/flakeward/coord/etcd/embedded"
	"github.com/flakeward/flakeward/internal/must"
)

// filled returns the directory of a server with a log of small segments, most of them older than
// its last snapshot, and the segments' paths. /k has the value last.
func filled(t *testing.T) (dir string, segments []string) {
	t.Helper()
	size := wal.SegmentSizeBytes
	wal.SegmentSizeBytes = 32 << 10
	t.Cleanup(func() { wal.SegmentSizeBytes = size })
	dir = t.TempDir()
	s := start(t, dir)
	var writing sync.WaitGroup
	for i := range 30 { // 1,500 writes; etcd makes a snapshot after each thousand
		writing.Go(func() {
			for range 50 {
				if _, err := s.Client().Put(t.Context(), fmt.Sprint("/", i), strings.Repeat("v", 64)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	must.Get(s.Client().Put(t.Context(), "/k", "last"))(t)
	stop(t, s)
	segments, err := filepath.Glob(filepath.Join(dir, "member", "wal", "*.wal"))
	if err != nil || len(segments) < 5 {
		t.Fatalf("segments %v, %v; want at least 5", segments, err)
	}
	return dir, segments
}

// A power cut may undo the removal of a segment and not that of the next one.
func TestStartsWhenAPurgeOfTheLogWasUndoneInPart(t *testing.T) {
	dir, segments := filled(t)
	must.Do(t, os.Remove(segments[1]))
	s := start(t, dir)
	defer stop(t, s)
	got, err := s.Client().Get(t.Context(), "/k")
	if err != nil || len(got.Kvs) != 1 || string(got.Kvs[0].Value) != "last" {
		t.Errorf("afterwards: %v, %v; want what was written last", got, err)
	}
}

// Without a segment that no snapshot covers, writes may be missing.
func TestDoesNotStartWhenALaterSegmentIsMissing(t *testing.T) {
	dir, segments := filled(t)
	missing := segments[len(segments)-2]
	must.Do(t, os.Rename(missing, missing+".away"))
	s, err := embedded.Start(t.Context(), embedded.Config{Dir: dir})
	if err == nil {
		stop(t, s)
		t.Fatal("started without a segment")
	}
	if !strings.Contains(err.Error(), "put the missing segments back") {
		t.Errorf("Start: %v; want what to do", err)
	}
	must.Do(t, os.Rename(missing+".away", missing))
	stop(t, start(t, dir)) // nothing was removed
}
