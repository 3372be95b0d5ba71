package inject

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

const (
	drillEvery   = 2 * time.Millisecond       // between two looks at the file
	drillLongest = 100 * 365 * 24 * time.Hour // either way; more would leave the clock's range
)

// drillClock is a clock whose wall part is off by what a file says: a Go duration such as -1h or
// +1s. A missing or empty file is an offset of 0, so whoever changes it renames another. A file
// that turns malformed leaves the offset as it was and is reported once; one that is malformed from
// the start is an error. One goroutine follows the file, so that a change takes effect within a few
// milliseconds; Now only loads the offset.
type drillClock struct {
	clockguard.Clock
	path   string
	report func(error)
	offset atomic.Int64 // nanoseconds

	stop context.CancelFunc
	done sync.WaitGroup

	// Only the goroutine that follows the file uses it.
	broken string // the last malformed content or failure, already reported
}

// drillKernel is the kernel of a host whose clock is a drillClock. Each host has a boot of its own,
// though all of a drill are containers on one machine, and nobody vouches for such a clock.
type drillKernel struct {
	clockguard.SystemKernel
	host string
}

func (k drillKernel) BootID() string { return k.host }

func (drillKernel) Synchronised() (time.Duration, bool) { return 0, false }

// follow returns c, off by what the file at path says. Close it when done.
func follow(c clockguard.Clock, path string, report func(error)) (*drillClock, error) {
	d := &drillClock{Clock: c, path: path, report: report}
	offset, err := readOffset(path)
	if err != nil {
		return nil, err
	}
	d.offset.Store(int64(offset))
	ctx, stop := context.WithCancel(context.Background())
	d.stop = stop
	d.done.Go(func() {
		for c.Sleep(ctx, drillEvery) == nil {
			d.look()
		}
	})
	return d, nil
}

// Now reads the clock below and adds the offset to its wall part.
func (d *drillClock) Now() clockguard.Reading {
	r := d.Clock.Now()
	r.Wall += d.offset.Load()
	return r
}

// close stops following the file and waits for the goroutine that did.
func (d *drillClock) close() {
	d.stop()
	d.done.Wait()
}

// look takes over what the file says now.
func (d *drillClock) look() {
	offset, err := readOffset(d.path)
	if err != nil {
		if d.broken != err.Error() {
			d.broken = err.Error()
			d.report(err)
		}
		return
	}
	d.broken = ""
	d.offset.Store(int64(offset))
}

// readOffset returns the duration that the file holds.
func readOffset(path string) (offset time.Duration, err error) {
	b, err := os.ReadFile(path)
	content := strings.TrimSpace(string(b))
	switch {
	case errors.Is(err, fs.ErrNotExist) || err == nil && content == "":
		return 0, nil
	case err != nil:
		return 0, fmt.Errorf("drill clock: %w", err)
	}
	offset, err = time.ParseDuration(content)
	if err != nil || offset > drillLongest || offset < -drillLongest {
		return 0, fmt.Errorf("drill clock: %s holds %.80q: write a duration of at most 100 years either way, such as -1h or +1s", path, content)
	}
	return offset, nil
}
