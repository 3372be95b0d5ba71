//go:build linux

package powercut

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/dir"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/e2e/powercut/forgetfs"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

const (
	timeout = 4 * time.Minute // of any wait; only what hangs takes so long
	// clients is how many ask at once, each for so many IDs a second.
	clients   = 2
	perClient = 25_000
)

// settings are a history's.
type settings struct {
	layout  string
	publish time.Duration
	lies    func(path string) bool
}

// Layouts: with two worker IDs each is opened again soon after its daemon was killed; with many of
// them a daemon seldom gets one that another had.
const (
	wide   = "flakeward"
	narrow = "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01"
)

// drawn draws settings: whoever publishes often flushes often.
func drawn(chance *rand.Rand) settings {
	s := settings{layout: wide, publish: 100 * time.Millisecond}
	if chance.IntN(2) == 0 {
		s.layout = narrow
	}
	if chance.IntN(3) == 0 {
		s.publish = time.Second
	}
	return s
}

// cut is when the power of one life is cut.
type cut struct {
	from   phase                  // from when on flushes count
	counts func(path string) bool // of what flushes; nil: all
	number int
	after  bool
	full   bool // the disk is, once the daemon serves: records are exchanged with the spare file
}

// phase is of a daemon's life.
type phase int

const (
	starting phase = iota // the start of the process
	serving               // its first ID
	stopping              // when it is told to stop
)

// drawnCut draws one. A daemon that did not come to serve is followed by one that must.
func drawnCut(chance *rand.Rand, served bool) cut {
	c := cut{after: chance.IntN(2) == 0, from: serving, full: chance.IntN(4) == 0}
	if served && chance.IntN(3) == 0 {
		c.from, c.number = starting, 1+chance.IntN(firstFlushes)
		return c
	}
	switch what := chance.IntN(6); {
	case what < 2:
		c.counts, c.number = isRecord, 1+chance.IntN(8)
	case what == 2:
		c.from, c.number = stopping, 1+chance.IntN(6)
	default:
		c.number = 1 + chance.IntN(12)
	}
	return c
}

// host is one disk, and the daemons that lived on it one after the other.
type host struct {
	*testing.T
	settings
	chance    *rand.Rand
	disk      *forgetfs.FS
	host      *process.Host
	directory string // the coordinator's
	layout    *generator.Layout
	lives     map[string][]int64 // all IDs that left any daemon, by its life
	tally     tally

	serving atomic.Bool // the last daemon has served
}

func newHost(t *testing.T, chance *rand.Rand, s settings) *host {
	t.Helper()
	daemon, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	at := sockettest.Dir(t)
	h := &host{T: t, settings: s, chance: chance, lives: map[string][]int64{}}
	if h.layout, err = generator.ParseLayout(s.layout); err != nil {
		t.Fatal(err)
	}
	h.host, err = process.NewHost(daemon, at)
	if err != nil {
		t.Fatal(err)
	}
	mount := filepath.Join(at, "disk")
	h.directory = filepath.Join(mount, "coord")
	h.host.Flags = []string{
		"--layout", s.layout, "--window", "2s", "--publish", s.publish.String(), "--host", "powercut", "--coord", "dir:" + h.directory,
	}
	h.host.Env = []string{fault.FUSE + "=1"}
	if err := os.Mkdir(mount, 0o700); err != nil {
		t.Fatal(err)
	}
	// A record survives a write that is torn at any byte.
	h.disk, err = forgetfs.Mount(mount, forgetfs.Options{Lies: s.lies})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.disk.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// live has a daemon live until the power is cut, and the disk forget.
func (h *host) live(c cut) {
	h.Helper()
	var at forgetfs.Flush
	var off <-chan forgetfs.Flush
	if c.from == starting {
		off = h.arm(c)
	}
	h.serving.Store(false)
	l := h.start()
	defer l.cancel()
	stopped := make(chan error, 1)
	select {
	case at = <-off:
	case <-l.served:
		h.serves(l)
		if c.full {
			h.disk.Fill(true)
		}
		if c.from != starting {
			off = h.arm(c)
		}
		if c.from == stopping {
			l.asking.Go(func() { stopped <- l.daemon.Stop(l.over) })
		}
		select {
		case at = <-off:
		case <-l.daemon.Ended():
		case <-l.over.Done():
		}
	case <-l.daemon.Ended():
	case <-l.over.Done():
	}
	h.disk.PowerOff()
	err := l.daemon.KillThen(h.disk.Release)
	if err != nil && at == (forgetfs.Flush{}) && c.from == stopping {
		err = <-stopped // it has stopped before so many flushes: then the power is cut after that
	}
	h.collect(l)
	if err = errors.Join(err, context.Cause(l.over)); err != nil {
		h.fail(err)
	}
	h.disk.Fill(false)
	h.disk.Restore(h.chance)
	h.compare(l.ids)
	h.tally.cuts++
	if isSpare(at.Path) {
		h.tally.spare++
	}
}

func (h *host) arm(c cut) <-chan forgetfs.Flush {
	const longest = 3 * time.Second // where the flushes that were asked for do not come, any counts after a while
	armed := time.Now()
	counts := func(f forgetfs.Flush) bool { return c.counts == nil || c.counts(f.Path) || time.Since(armed) > longest }
	return h.disk.Arm(forgetfs.Cut{Counts: counts, Number: c.number, After: c.after})
}

// end has the last daemon serve, and stop.
func (h *host) end() {
	h.Helper()
	l := h.start()
	defer l.cancel()
	select {
	case <-l.served:
		h.serves(l)
		if err := l.daemon.Stop(l.over); err != nil {
			h.fail(err)
		}
	case <-l.daemon.Ended():
		h.fail(errors.New("the daemon has ended by itself"))
	case <-l.over.Done():
		h.fail(context.Cause(l.over))
	}
	h.collect(l)
}

// between is what happens, as chance has it, while there is no power. The clock is set back, by up
// to three seconds.
func (h *host) between() {
	h.Helper()
	if h.chance.IntN(3) > 0 {
		by := time.Duration(h.chance.Int64N(int64(3 * time.Second)))
		if err := h.host.Clock.Set(h.host.Clock.Offset() - by); err != nil {
			h.Fatal(err)
		}
		h.tally.stepped++
	}
}

// fail ends the test with what is known of the daemon.
func (h *host) fail(err error) {
	h.Helper()
	h.Fatalf("%v; after %d cuts; the daemons said:\n%s", err, h.tally.cuts, h.logged())
}

// logged is the end of the daemons' log.
func (h *host) logged() string {
	b, err := os.ReadFile(h.host.Log)
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-8<<10):])
}

// life is one daemon and what asks it.
type life struct {
	daemon *process.Daemon
	begun  time.Time
	served chan struct{}   // closed at the first ID
	over   context.Context // done when all of it takes too long
	cancel context.CancelFunc
	asking sync.WaitGroup
	first  sync.Once
	all    []*load.Client // valid once asking is done
	ids    []int64        // as that is
}

// start starts a daemon and asks it for IDs as soon as it is ready.
func (h *host) start() *life {
	h.Helper()
	over, cancel := context.WithTimeoutCause(h.Context(), timeout, errors.New("a daemon takes too long"))
	l := &life{begun: time.Now(), served: make(chan struct{}), over: over, cancel: cancel}
	var err error
	if l.daemon, err = h.host.Start(h.Context()); err != nil {
		h.Fatal(err)
	}
	l.asking.Go(func() {
		if l.daemon.Await(over, "ready") != nil {
			return // it was killed, or takes too long
		}
		for range clients {
			c, err := load.Open(over, h.host.Socket, load.Config{Rate: perClient})
			if err != nil {
				return // it was killed meanwhile
			}
			l.all = append(l.all, c)
			l.asking.Go(func() {
				if c.Await(over, 1) == nil {
					l.first.Do(func() { close(l.served) })
				}
			})
		}
	})
	return l
}

// serves notes that a daemon did.
func (h *host) serves(l *life) {
	h.serving.Store(true)
	h.tally.longest = max(h.tally.longest, time.Since(l.begun))
}

// collect waits for what asked a daemon that is gone, and keeps what it got.
func (h *host) collect(l *life) {
	l.asking.Wait()
	for _, c := range l.all {
		ids, _, err := c.Close()
		if errors.Is(err, load.ErrWrong) {
			h.Error(err)
		}
		l.ids = append(l.ids, ids...)
	}
	h.lives[fmt.Sprintf("life %d", len(h.lives)+1)] = l.ids
}

// compare counts the IDs of a life above what their worker ID's record has after the cut.
func (h *host) compare(ids []int64) {
	h.Helper()
	records := h.recorded()
	for _, id := range ids {
		parts, err := h.layout.Decompose(id)
		if err != nil {
			h.Fatalf("%d is no ID: %v", id, err)
		}
		h.tally.compared++
		if parts.Tick > records[int(parts.Worker)] {
			h.tally.aboveRecord++
		}
	}
}

// recorded are the ceilings of the records in the directory.
func (h *host) recorded() map[int]generator.Tick {
	h.Helper()
	ceilings := map[int]generator.Tick{}
	o, err := dir.New(dir.Config{Path: h.directory, Identity: coord.Identity{Incarnation: fmt.Sprintf("reader%d", h.chance.Uint64())}, FUSE: true})
	if err != nil {
		h.Fatal(err)
	}
	defer o.Close() // it has only read
	if _, err = o.Inspect(h.Context()); errors.Is(err, coord.ErrNoCluster) {
		return ceilings
	}
	marks, e := o.Marks(h.Context())
	if err = errors.Join(err, e); err != nil {
		h.Fatal(err)
	}
	for _, m := range marks {
		ceilings[m.Worker] = m.Ceiling
	}
	return ceilings
}

// duplicates compares all IDs.
func (h *host) duplicates() received.Duplicates {
	return received.FindDuplicates(slices.Concat(slices.Collect(maps.Values(h.lives))...))
}

// judge fails the test if an ID came twice, if two lives issued from one tick of a worker ID, or if
// an ID was above its record.
func (h *host) judge() {
	h.Helper()
	found, shared := h.duplicates(), received.FindSharedTicks(h.layout, h.lives)
	h.tally.ids, h.tally.repeated = found.IDs, found.Repeated
	if found.Repeated > 0 || shared.Shared > 0 || h.tally.aboveRecord > 0 {
		h.Errorf("%d IDs, %d duplicates: %v; %d shared ticks: %q; %d IDs above the record; the daemons said:\n%s",
			found.IDs, found.Repeated, found.Examples, shared.Shared, shared.Examples, h.tally.aboveRecord, h.logged())
	}
}
