package grant_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/embedded"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// The grants of the tests: small numbers of ticks of 1 ms, so that every number that may be issued can be.
const (
	step    = 20 * time.Millisecond
	window  = 200 * time.Millisecond
	wait    = 30 * time.Millisecond // FirstWait
	perTick = 4
	coordAt = "etcd://the-test's"
)

// world is a real etcd server, a clock that all hosts share, and every number that any of them was given.
type world struct {
	t      *testing.T
	server *embedded.Server
	client *clientv3.Client
	clock  *clocktest.Manual
	layout *generator.Layout

	mu     sync.Mutex
	issued map[int64]string // the host that was given it
}

func newWorld(t *testing.T) *world {
	t.Helper()
	server, err := embedded.Start(t.Context(), embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &world{t: t, server: server, client: server.Client(), clock: clocktest.NewManual(epoch.Add(1000 * time.Hour)), layout: parse(t, text), issued: map[int64]string{}}
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// text is a layout with few worker IDs, so that hosts meet on one.
const text = "time=41@1ms,worker=2,sequence=2;epoch=2026-01-01T00:00:00Z"

func parse(t *testing.T, text string) *generator.Layout {
	t.Helper()
	layout, err := generator.ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return layout
}

func (w *world) tick() generator.Tick { return w.layout.TickAt(w.clock.Now().Wall) }

// host is a machine: its state directory outlives its processes.
type host struct {
	*world
	name string
	dir  string
}

func (w *world) host(name string) *host { return &host{world: w, name: name, dir: w.t.TempDir()} }

// process is one start of a daemon's grant keeping, up to its crash or its stop.
type process struct {
	*host
	*grant.Keeper
	coord *faulty
	disk  *faultyDisk
	dir   *journal.Dir

	mu   sync.Mutex
	lane *generator.Lane // in use
}

func (p *process) Use(lane *generator.Lane) { p.mu.Lock(); p.lane = lane; p.mu.Unlock() }
func (p *process) Changed()                 {}

// boot starts a process as far as the journal; the coordinator is not attached yet.
func (h *host) boot() *process {
	h.t.Helper()
	return h.bootWith(h.layout)
}

func (h *host) bootWith(layout *generator.Layout) *process {
	h.t.Helper()
	dir, err := journal.OpenDir(h.dir)
	if err != nil {
		h.t.Fatal(err)
	}
	p := &process{host: h, dir: dir, disk: &faultyDisk{Dir: dir}}
	p.Keeper = grant.New(grant.Config{
		Layout:    layout,
		Coord:     coordAt,
		Timing:    grant.Timing{Window: window, Publish: window / 4, Step: step},
		FirstWait: wait,
		Clock:     h.clock,
		Journal:   p.disk,
		Log:       hclog.NewNullLogger(),
	}, p)
	h.t.Cleanup(p.crash)
	return p
}

// inherit takes over the journal, as a daemon does at its start.
func (p *process) inherit() (journal.Contents, error) {
	p.t.Helper()
	contents, err := p.dir.Read()
	if errors.Is(err, journal.ErrNone) {
		return contents, nil
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return contents, p.Inherit(contents)
}

// attach opens a session with the coordinator and joins.
func (p *process) attach() {
	p.t.Helper()
	c, err := etcd.New(p.client, etcd.Config{MakeRoom: p.server.MakeRoom, Identity: coord.Identity{Host: p.name, Incarnation: rand.Text()}})
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			p.t.Error(err)
		}
	})
	p.coord = &faulty{Coordinator: c}
	cluster, err := c.Join(p.t.Context(), coord.Layout{Text: p.LayoutText(), Workers: p.layout.Workers()})
	if err != nil {
		p.t.Fatal(err)
	}
	p.Attach(p.coord, cluster)
}

// start is a whole start, up to the first grant.
func (h *host) start() *process {
	h.t.Helper()
	p := h.reboot()
	p.attach()
	p.acquire()
	return p
}

func (p *process) acquire() {
	p.t.Helper()
	if err := p.Acquire(p.t.Context(), false); err != nil {
		p.t.Fatal(err)
	}
}

// crashed is a host whose process was killed after it had issued all that it was granted, with its session alive.
func crashed(t *testing.T) (*world, *host, *process) {
	t.Helper()
	w := newWorld(t)
	h := w.host("J")
	p := h.start()
	p.issueAll()
	p.crash()
	return w, h, p
}

// reboot boots and takes the journal over.
func (h *host) reboot() *process {
	h.t.Helper()
	p := h.boot()
	if _, err := p.inherit(); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// bootFor boots with a preference for a worker ID, which is all that its journal gives: nobody's opening has that ID.
func (h *host) bootFor(worker int) *process {
	h.t.Helper()
	p := h.boot()
	if err := p.Inherit(journal.Contents{Layout: p.LayoutText(), Lanes: []journal.Entry{{Worker: worker, Opening: "nobody's"}}}); err != nil {
		h.t.Fatal(err)
	}
	return p
}

// coldStart boots with the coordinator away, and returns how issuing from the journal's grant went.
func (h *host) coldStart() (*process, error) {
	h.t.Helper()
	p := h.boot()
	contents, err := p.inherit()
	if err != nil {
		h.t.Fatal(err)
	}
	return p, p.ColdStart(contents)
}

// crash ends the process as a kill does: nothing is written or given back, the session lives on, the lock is free.
func (p *process) crash() {
	if p.disk.dead {
		return
	}
	p.disk.dead = true
	if err := p.dir.Close(); err != nil {
		p.t.Error(err)
	}
}

// issueAll takes every number that the lane may issue, at any tick, as if the clock went everywhere, and reports those that anybody
// was given before.
func (p *process) issueAll() (n int) {
	p.t.Helper()
	p.mu.Lock()
	lane := p.lane
	p.mu.Unlock()
	if lane == nil {
		return 0
	}
	// From below, for a slot that has moved on takes no earlier tick. A first floor is 0, which is ages ago.
	for tick := max(lane.Floor()+1, lane.Ceiling()-1000); tick <= lane.Ceiling(); tick++ {
		for {
			run, out := lane.Take(0, tick, perTick)
			if out != generator.Issued {
				break
			}
			for i := range run.N {
				p.note(run.First + int64(i)*p.layout.Step())
				n++
			}
		}
	}
	return n
}

func (p *process) note(id int64) {
	p.world.mu.Lock()
	defer p.world.mu.Unlock()
	if before, ok := p.issued[id]; ok {
		parts, _ := p.layout.Decompose(id)
		p.t.Errorf("%s was given worker %d, tick %d, sequence %d, which %s had", p.name, parts.Worker, parts.Tick, parts.Sequence, before)
	}
	p.issued[id] = p.name
}

// worker is the worker ID in use.
func (p *process) worker() int { return p.Holding().Worker }

// stealFrom has another host take over p's worker ID: p's claim is gone, and the other opens the record next.
func (h *host) stealFrom(p *process) *process {
	h.t.Helper()
	p.revoke()
	thief := h.bootFor(p.worker())
	h.clock.Advance(window + wait) // the floor is the other's ceiling
	thief.attach()
	thief.acquire()
	if thief.worker() != p.worker() {
		h.t.Fatalf("the thief holds worker ID %d, wanted %d", thief.worker(), p.worker())
	}
	return thief
}

// revoke ends the claim of p's worker ID, as the end of its session would.
func (p *process) revoke() {
	p.t.Helper()
	key := etcd.DefaultPrefix + "claims/" + p.Holding().Claim
	resp, err := p.client.Delete(p.t.Context(), key)
	if err != nil || resp.Deleted != 1 {
		p.t.Fatalf("the claim %s was not revoked: %v, %v", key, resp, err)
	}
}

var errCut = errors.New("the reply was lost")

// faulty loses replies: the call is made, its outcome stored, and the caller learns nothing.
type faulty struct {
	coord.Coordinator
	loseClaim, loseExtend, loseRelease bool
	before                             func(call string) error // refuses a call before it is made
}

func (f *faulty) Claim(ctx context.Context, r coord.Request) (coord.Claim, error) {
	if err := f.refuse("claim"); err != nil {
		return nil, err
	}
	c, err := f.Coordinator.Claim(ctx, r)
	if err != nil {
		return nil, err
	}
	if f.loseClaim {
		return nil, errCut
	}
	return &faultyClaim{Claim: c, f: f}, nil
}

func (f *faulty) refuse(call string) error {
	if f.before == nil {
		return nil
	}
	return f.before(call)
}

type faultyClaim struct {
	coord.Claim
	f *faulty
}

func (c *faultyClaim) Extend(ctx context.Context, p coord.Progress) error {
	if err := c.f.refuse("extend"); err != nil {
		return err
	}
	if err := c.Claim.Extend(ctx, p); err != nil || !c.f.loseExtend {
		return err
	}
	return errCut
}

func (c *faultyClaim) Release(ctx context.Context, last generator.Tick) error {
	if err := c.f.refuse("release"); err != nil {
		return err
	}
	if err := c.Claim.Release(ctx, last); err != nil || !c.f.loseRelease {
		return err
	}
	return errCut
}

var errDisk = errors.New("no space left on device")

// faultyDisk fails writes, or lets them land and says that they failed.
type faultyDisk struct {
	*journal.Dir
	dead         bool // the process has crashed: nothing may be written
	full, unsure bool
	writes       int
}

func (d *faultyDisk) Write(c journal.Contents) error {
	if d.dead {
		panic(fmt.Sprintf("a dead process writes %+v", c))
	}
	d.writes++
	if d.full {
		return errDisk
	}
	if err := d.Dir.Write(c); err != nil {
		return err
	}
	if d.unsure {
		return errDisk
	}
	return nil
}
