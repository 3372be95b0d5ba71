package daemon

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
)

// A socket file that somebody removed is made again at the next look, and one that another has
// replaced is said once.
func TestTheSocketIsKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	lock := must.Get(socketfile.TakeLock(path, 0, ""))(t)
	defer lock.Free()
	l := must.Get(lock.Listen(0o660, -1))(t)
	defer l.Close()
	clock := clocktest.NewManual(time.Date(2027, 1, 1, 0, 0, 0, 0, time.UTC))
	log := &logtest.Buffer{}
	ctx, cancel := context.WithCancel(t.Context())
	ended, made := make(chan struct{}), 0
	go func() { keepSocket(ctx, clock, l, path, func() { made++ }, log.At(hclog.Info)); close(ended) }()
	defer func() { cancel(); <-ended }()
	look := func() {
		clock.BlockUntil(1)
		clock.Advance(socketEvery)
		clock.BlockUntil(1)
	}
	look()
	if got := log.String(); got != "" {
		t.Errorf("it said %q of a file that is there", got)
	}
	must.Do(t, os.Remove(path))
	look()
	c := must.Get(net.Dial("unix", path))(t)
	_ = c.Close()
	must.Do(t, os.Remove(path))
	must.Do(t, os.WriteFile(path, nil, 0o600))
	look()
	look()
	if made != 1 {
		t.Errorf("it told %d times that the file was made, want 1", made)
	}
	for text, times := range map[string]int{"has been made again": 1, "another file has taken": 1} {
		if n := strings.Count(log.String(), text); n != times {
			t.Errorf("%q was said %d times, want %d:\n%s", text, n, times, log)
		}
	}
}
