package grant_test

import (
	"cmp"
	"crypto/rand"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// The grants of the tests: small numbers of ticks of 1 ms, so that every number that may be issued
// can be.
const (
	step    = 20 * time.Millisecond
	window  = 200 * time.Millisecond
	wait    = 30 * time.Millisecond // RestartWait
	perTick = 4
	coordAt = "etcd://the-test's"
)

// fixture is a real coordinator, a clock that hosts share, and every number that any of them was
// given.
type fixture struct {
	t      *testing.T
	tree   backend
	clock  *clocktest.Manual
	layout *generator.Layout

	mu     sync.Mutex
	issued map[int64]string // the host that was given it
	// repeats counts the numbers that were given twice, where a test shows that some are; nil: none
	// may be.
	repeats *int
}

// newFixture is a fixture on etcd, where a test has no reason to care.
func newFixture(t *testing.T) *fixture {
	t.Helper()
	return newFixtureOn(t, newEtcd(t))
}

func newFixtureOn(t *testing.T, tree backend) *fixture {
	return &fixture{t: t, tree: tree, clock: clocktest.NewManual(epoch.Add(1000 * time.Hour)), layout: parse(t, text), issued: map[int64]string{}}
}

// used is a fixture of whose worker IDs some were issued from all the time: none before now is
// free.
func (w *fixture) used(workers ...int) *fixture {
	w.t.Helper()
	c := must.Get(w.tree.open(coord.Identity{Host: "used", Incarnation: rand.Text()}))(w.t)
	defer c.Close()
	h := w.host("used").boot()
	coordtest.Join(w.t, c, coord.Layout{Text: lifecycle.LayoutText(h.layout, 0), Workers: w.layout.Workers(), Window: h.Window()})
	for _, worker := range workers {
		claim := must.Get(c.Claim(w.t.Context(), coord.Request{Worker: worker}))(w.t)
		must.Do(w.t, claim.Release(w.t.Context(), coordtest.Closed(w.tick()-1)))
	}
	return w
}

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// text is a layout with few worker IDs, so that hosts meet on one.
const text = "time=41@1ms,worker=2,sequence=2;epoch=2026-01-01T00:00:00Z"

func parse(t *testing.T, text string) *generator.Layout {
	t.Helper()
	return must.Get(generator.ParseLayout(text))(t)
}

func (w *fixture) tick() generator.Tick { return w.layout.TickAt(w.clock.Now().Wall) }

// host is a machine, on which one process follows another.
type host struct {
	*fixture
	name  string
	pid   int
	clock *clocktest.Manual // the fixture's, except for a host whose clock is wrong

	at      string               // grant.Config.Coord; empty: coordAt
	machine generator.Generation // grant.Config.Machine
	timing  *grant.Timing        // grant.Config.Timing; nil: that of the tests
	random  func() float64       // grant.Config.Random
	age     time.Duration        // grant.Config.Age
	log     hclog.Logger         // grant.Config.Log; nil: nobody reads it
	events  *condition.Counts    // grant.Config.Events
}

func (w *fixture) host(name string) *host {
	return &host{fixture: w, name: name, pid: 1, clock: w.clock}
}

// fast is a host whose clock is ahead of all others.
func (w *fixture) fast(name string, by time.Duration) *host {
	h := w.host(name)
	h.clock = clocktest.NewManual(time.Unix(0, w.clock.Now().Wall).Add(by))
	return h
}

func (h *host) tick() generator.Tick { return h.layout.TickAt(h.clock.Now().Wall) }

// process is one start of a daemon's grant keeping, up to its crash or its stop.
type process struct {
	*host
	*grant.Holder
	coord   *faulty
	cluster string // the one that was joined
	started string // the incarnation
	wants   int    // the worker ID that is asked for, where the holder asks for none

	changed func() // nil: nobody is told that requests have to look again

	mu   sync.Mutex
	lane *generator.Lane // in use
}

func (p *process) Use(lane *generator.Lane) {
	p.mu.Lock()
	p.lane = lane
	p.mu.Unlock()
	p.Changed()
}

func (p *process) Changed() {
	if p.changed != nil {
		p.changed()
	}
}

// boot starts a process; the coordinator is not attached yet.
func (h *host) boot() *process {
	h.t.Helper()
	p := &process{host: h, wants: coord.AnyWorker}
	timing := grant.Timing{Window: window, Publish: window / 4}
	if h.timing != nil {
		timing = *h.timing
	}
	p.Holder = grant.New(grant.Config{
		Layout:      h.layout,
		Coord:       cmp.Or(h.at, coordAt),
		Timing:      timing,
		RestartWait: wait,
		Clock:       h.clock,
		Age:         h.age,
		Random:      h.random,
		Machine:     h.machine,
		Events:      h.events,
		Log:         cmp.Or(h.log, hclog.NewNullLogger()),
	}, p)
	return p
}

// attach opens a session with the coordinator and joins.
func (p *process) attach() {
	p.t.Helper()
	c, cluster, err := p.join()
	must.Do(p.t, err)
	p.Attach(c, cluster)
}

// join opens a session with the coordinator and joins.
func (p *process) join() (coord.Coordinator, coord.Cluster, error) {
	p.started = rand.Text()
	c, err := p.tree.open(coord.Identity{Host: p.name, PID: p.pid, Incarnation: p.started, Version: "v0.0.0-test"})
	if err != nil {
		return nil, coord.Cluster{}, err
	}
	p.t.Cleanup(func() {
		coordtest.Close(p.t, c)
	})
	p.coord = &faulty{Coordinator: c, wants: p.wants}
	cluster, err := coordtest.CreateAndJoin(p.t.Context(), c, coord.Layout{Text: lifecycle.LayoutText(p.layout, 0), Workers: p.layout.Workers(), Window: p.Window()})
	p.cluster = cluster.UUID
	return p.coord, cluster, err
}

// start is a whole start, up to the first grant.
func (h *host) start() *process {
	h.t.Helper()
	p := h.boot()
	p.attach()
	p.acquire()
	return p
}

func (p *process) acquire() {
	p.t.Helper()
	must.Do(p.t, p.Acquire(p.t.Context(), false))
}

func (w *fixture) crashed() (*host, *process) {
	w.t.Helper()
	h := w.host("J")
	p := h.start()
	p.issueAll()
	p.crash()
	return h, p
}

// startFor is start with a preference for a worker ID.
func (h *host) startFor(worker int) *process {
	h.t.Helper()
	p := h.bootFor(worker)
	p.attach()
	p.acquire()
	return p
}

// bootFor boots with a preference for a worker ID.
func (h *host) bootFor(worker int) *process {
	h.t.Helper()
	p := h.boot()
	p.wants = worker
	return p
}

// crash ends the process as a kill does: nothing is given back, and the session lives on.
func (p *process) crash() {
	p.coord.before = func(call string) error { panic("a dead process calls " + call) }
}

// issueAll takes every number that the lane may issue, at any tick, as if the clock went
// everywhere, and reports those that anybody was given before.
func (p *process) issueAll() (n int) {
	p.t.Helper()
	p.mu.Lock()
	lane := p.lane
	p.mu.Unlock()
	if lane == nil {
		return 0
	}
	// From below, for a slot that has moved on takes no earlier tick. A first floor is 0, which is
	// ages ago.
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

// issues is issueAll where there has to be something.
func (p *process) issues() {
	p.t.Helper()
	if p.issueAll() == 0 {
		p.t.Fatalf("%s can issue nothing", p.name)
	}
}

func (p *process) note(id int64) {
	p.fixture.mu.Lock()
	defer p.fixture.mu.Unlock()
	if before, ok := p.issued[id]; ok && p.repeats != nil {
		*p.repeats++
	} else if ok {
		parts, _ := p.layout.Decompose(id)
		p.t.Errorf("%s was given worker %d, tick %d, sequence %d, which %s had", p.name, parts.Worker, parts.Tick, parts.Sequence, before)
	}
	p.issued[id] = p.name
}

// worker is the worker ID in use.
func (p *process) worker() int { return p.Holding().Worker }

// stealFrom has another host take over p's worker ID: p's claim is gone, and the other opens the
// record next.
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
	claim := p.Holding().Claim
	if err := p.tree.revoke(p.t.Context(), claim); err != nil {
		p.t.Fatalf("the claim %s was not revoked: %v", claim, err)
	}
}

// passedOn has p's claim end, and another open its worker ID at once, whatever p was granted.
func (p *process) passedOn() {
	p.t.Helper()
	p.revoke()
	other := p.fixture.host("another").boot()
	other.attach()
	c := must.Get(other.coord.Coordinator.Claim(p.t.Context(), coord.Request{Worker: p.worker(), Latest: math.MaxInt64}))(p.t)
	if c.Worker() != p.worker() {
		p.t.Fatalf("another got worker ID %d, wanted %d", c.Worker(), p.worker())
	}
}

func (p *process) says(err error, texts ...string) {
	p.t.Helper()
	if err == nil {
		p.t.Errorf("there is no error, want one that says %q", texts)
		return
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			p.t.Errorf("%q does not say %q", err, text)
		}
	}
}
