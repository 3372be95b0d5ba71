// Package grant keeps one lane supplied: it claims a worker ID, has the coordinator extend the
// grant, keeps the journal's mark ahead of the clock, and raises the lane's ceiling to what both
// allow. The order of those steps is what makes an ID unique; docs/guarantees.md has the invariants
// that the comments here number.
//
// Everything that decides is in methods that do one step and return: Acquire, Publish, Renew, Shut.
// Run calls them in time.
package grant

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// Timing is how far ahead marks are pushed, and how often.
type Timing struct {
	Window  time.Duration // the grant in the coordinator: how long its absence is survived
	Publish time.Duration // between two grants
	Step    time.Duration // the journal's mark: how long a restart after a crash may have to wait
}

// Journal is where marks are made durable on this host.
type Journal interface {
	Write(journal.Contents) error
}

// Issuer is told which lane is in use, and when more may be issued.
type Issuer interface {
	Use(*generator.Lane)
	Changed()
}

// Config is what a Holder works on.
type Config struct {
	Layout     *generator.Layout
	Datacenter uint64
	Coord      string // which coordinator, as the journal names it
	Accept     string // the UUID of the one cluster for which a journal of another may be left; empty: for none
	Timing     Timing
	FirstWait  time.Duration // how long a fresh lane may wait for its floor before a claim elsewhere is better
	Clock      clockguard.Clock
	Random     func() float64 // in [0,1), for jitter; nil: the runtime's
	Journal    Journal
	Lane       int                  // the lane's number among the daemon's, 0 for the first: its preference for a worker ID goes by it
	Spent      *Spent               // shared by the holders of one daemon; nil: the holder's own
	Machine    generator.Generation // of the virtual machine; another one makes this process a copy
	Log        hclog.Logger
}

// Holder holds at most one worker ID that is in use, and one that is being left. It is made by New.
type Holder struct {
	Config
	issuer Issuer
	text   string // of the layout
	step   generator.Tick
	window generator.Tick
	wakes  wakes

	// writing holds one token unless somebody has it, who may write the journal, from the look at
	// the state to the change of it.
	writing chan struct{}

	mu    sync.Mutex // guards what follows; never held over a call that waits
	coord coord.Coordinator
	state state
	moved error // the journal is not ours any more: final

	raised             *coord.Raise // the last that was told; nil: none yet
	limits, limitsKept int          // how often a raise has changed what may be issued, and how often when the journal was written last

	inherited journal.Contents // as it was found; no cluster: nothing of it counts any more
	over      string           // the UUID of the cluster that what was inherited has been left for; empty: for none

	pending coord.Claim // opened, and not in the journal yet; of the goroutine that acquires
	stale   []string    // claim nodes that the next claim deletes; likewise
	// nextLook is when the cluster's record may be looked at again; of the goroutine that runs
	// Hold.
	nextLook clockguard.Mono
	trouble  trouble
	requests requests
}

// state is what the journal is written from.
type state struct {
	cluster  string
	current  holding
	draining holding // worker is coord.AnyWorker if there is none
	// left are the worker IDs of clusters that were left. They stay in the journal, for what this
	// host has issued from them no coordinator knows. The slice is not changed, but replaced.
	left []journal.Entry
	// abandoned is final: the cluster is no more.
	abandoned bool
}

// holding is a worker ID that is, or was, held.
type holding struct {
	worker  int
	opening string          // the record's holder that lane and mark came from; empty: nothing to go on from
	node    string          // the claim node's name
	claim   coord.Claim     // nil: lost, or not claimed by this process yet
	lane    *generator.Lane // nil: none yet
	mark    generator.Tick  // the journal's, as on disk
	granted generator.Tick  // acknowledged by the coordinator; 0: nothing
	// published is the highest mark that was sent with an Extend. For a journal that was inherited
	// it is that journal's mark: the record has none above it, or the journal is not adopted.
	published generator.Tick
	// limited is set once a raise has limited the lane, and with it the grant.
	limited bool
	// cold is set while what was inherited is issued from without a claim of this process.
	cold bool
}

// none is the holding of no worker ID.
var none = holding{worker: coord.AnyWorker}

// New makes a holder that holds nothing.
func New(c Config, issuer Issuer) *Holder {
	if c.Random == nil {
		c.Random = rand.Float64
	}
	if c.Spent == nil {
		c.Spent = NewSpent()
	}
	k := &Holder{
		Config: c,
		issuer: issuer,
		text:   fmt.Sprintf("%s;datacenter=%d", c.Layout, c.Datacenter),
		// Two ticks at the least: with one, the mark would have to be renewed within the very tick
		// that it ends with.
		step:    max(2, ticks(c.Layout, c.Timing.Step)),
		window:  max(4, ticks(c.Layout, c.Timing.Window)),
		wakes:   newWakes(),
		writing: make(chan struct{}, 1),
		state:   state{current: none, draining: none},
	}
	k.giveTurn()
	c.Spent.add(k)
	k.trouble.set(&k.trouble.coordinator, k.now(), fmt.Errorf("the daemon is starting: coordinator %s has not answered yet", c.Coord))
	return k
}

// takeTurn waits for the journal's token, and giveTurn gives it back.
func (k *Holder) takeTurn() { clockguard.Await(k.Clock, k.writing) }
func (k *Holder) giveTurn() { k.writing <- struct{}{} }

// ticks rounds d up to whole ticks.
func ticks(l *generator.Layout, d time.Duration) generator.Tick {
	return generator.Tick((d + l.TickLength() - 1) / l.TickLength())
}

func (k *Holder) now() clockguard.Reading { return k.Clock.Now() }

func (k *Holder) tick() generator.Tick { return k.Layout.TickAt(k.now().Wall) }

// LayoutText is the layout as the cluster's registry and the journal name it.
func (k *Holder) LayoutText() string { return k.text }

// ErrNoGrant means that the journal has no grant that could be issued from without the coordinator.
var ErrNoGrant = errors.New("the journal holds no grant that has not ended")

// ErrRefused means that the coordinator has answered, and that its answer may be that the journal's
// grant is another's by now.
var ErrRefused = errors.New("the coordinator has answered and refuses, so the journal's grant is not issued from")

// ColdStart begins to issue from the grant that the journal holds, with no coordinator: between the
// journal's mark and the ceiling that was acknowledged nobody else can issue, for whoever opens the
// record meanwhile starts above that ceiling.
func (k *Holder) ColdStart(c journal.Contents) error {
	if c.Coord != k.Coord {
		// Another coordinator may be another cluster, in which the worker ID is somebody else's.
		return fmt.Errorf("%w: it is of coordinator %s", ErrNoGrant, c.Coord)
	}
	if k.Accept != "" && c.Cluster != k.Accept {
		// In the one that is to be joined the worker ID may be somebody else's already.
		return fmt.Errorf("%w: it is of cluster %s, which --accept-cluster leaves for %s", ErrNoGrant, c.Cluster, k.Accept)
	}
	newest := k.snapshot().current
	err := k.resume()
	for i := len(c.Lanes) - 2; i >= 0 && !c.Lanes[i].Left && errors.Is(err, ErrNoGrant) && newest.opening != ""; i-- {
		// The newest opening has not been granted anything yet; what was to be left for it has.
		k.setCurrent(inherited(c.Lanes[i]))
		if err = k.resume(); errors.Is(err, ErrNoGrant) {
			k.setCurrent(newest)
		}
	}
	return err
}

func (k *Holder) setCurrent(h holding) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.state.current = h
	k.restrict(&k.state)
}

// resume issues from what is left of the grant that was inherited.
func (k *Holder) resume() error {
	if k.Spent.poisoned.Load() {
		return ErrRefused
	}
	cur := k.snapshot().current
	if cur.lane != nil || cur.opening == "" || cur.granted <= max(cur.mark, k.tick()) {
		return ErrNoGrant
	}
	lane, err := k.lane(cur.worker, cur.mark)
	if err != nil {
		return err
	}
	k.mu.Lock()
	abandoned := k.state.abandoned
	if !abandoned {
		k.state.current.lane, k.state.current.cold = lane, true
		k.restrict(&k.state)
	}
	k.mu.Unlock()
	if abandoned {
		return ErrRefused
	}
	k.issuer.Use(lane) // nothing may be issued from it until the journal is written
	return k.Renew()
}

func (k *Holder) lane(worker int, floor generator.Tick) (*generator.Lane, error) {
	lane, err := generator.NewLane(k.Layout, k.Datacenter, worker, floor)
	if err != nil {
		return nil, fmt.Errorf("worker ID %d: %w: %w", worker, errUnusable, err)
	}
	lane.Bind(k.Machine)
	return lane, nil
}

// snapshot is the state as it is now.
func (k *Holder) snapshot() state {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.state
}

// Renew keeps the journal's marks ahead of the clock and raises the lanes up to them. It does
// nothing while a mark is still half a step ahead. After an error a lane goes on to the mark that
// is on disk and no further.
func (k *Holder) Renew() error {
	if err := k.copied(); err != nil {
		return err
	}
	k.takeTurn()
	defer k.giveTurn()
	k.mu.Lock()
	s, moved, owed := k.state, k.moved, k.limits != k.limitsKept
	k.mu.Unlock()
	if moved != nil {
		return moved
	}
	cur, leaving := k.markFor(s.current), k.markFor(s.draining)
	if cur <= s.current.mark && leaving <= s.draining.mark && !owed {
		return nil
	}
	return k.record(func(now *state) {
		if now.current.opening == s.current.opening {
			now.current.mark = max(now.current.mark, cur)
		}
		if now.draining.opening == s.draining.opening {
			now.draining.mark = max(now.draining.mark, leaving)
		}
	})
}

// markFor is the mark that h should have on disk now.
func (k *Holder) markFor(h holding) generator.Tick {
	if h.lane == nil || h.lane.Closed() {
		return h.mark
	}
	// From the clock, and not from the lane's floor or last tick where those are ahead of it: a
	// daemon that starts and crashes again and again would push its mark on by a step each time.
	now := k.tick()
	if h.mark-now > k.step/2 {
		return h.mark
	}
	return max(h.mark, min(h.granted, now+k.step))
}

// record makes a change of the state: it writes the journal as it will be after it, then changes
// the state, and raises the lanes to what is then allowed. If the write fails the state stays as it
// was: what is on disk is then the one or the other, and both are at or above all that was issued.
// The caller has the writing token; change may be called twice.
func (k *Holder) record(change func(*state)) error {
	if err := k.copied(); err != nil {
		return err
	}
	k.mu.Lock()
	s := k.state
	change(&s)
	k.revoke(&s)
	k.restrict(&s)
	limits := k.limits
	k.mu.Unlock()
	err := k.Journal.Write(k.contents(s))
	before := k.trouble.set(&k.trouble.disk, k.now(), err)
	if err != nil {
		if before == nil {
			k.Log.Error("issuing stops at the last mark that is on disk", "error", err)
		}
		err = fmt.Errorf("the journal was not written: %w", err)
		if errors.Is(err, journal.ErrMoved) {
			// Another daemon may have the path by now, and its journal.
			k.mu.Lock()
			k.moved = err
			k.state.current.stop()
			k.state.draining.stop()
			k.mu.Unlock()
		}
		return err
	}
	if before != nil {
		k.Log.Info("the journal is written again")
	}
	k.mu.Lock()
	change(&k.state)
	k.revoke(&k.state) // which may have become due while the journal was written
	k.restrict(&k.state)
	k.limitsKept = limits
	s = k.state
	k.mu.Unlock()
	k.raise(s)
	return nil
}

// raise lets the lanes issue up to what is both granted and journaled (invariants 3 and 5).
func (k *Holder) raise(s state) {
	rose := false
	for _, h := range []holding{s.current, s.draining} {
		if h.lane == nil {
			continue
		}
		if ceiling := min(h.granted, h.mark); ceiling > h.lane.Ceiling() && h.lane.Raise(ceiling) {
			rose = true
		}
	}
	if rose {
		k.issuer.Changed()
	}
}

// contents is the journal of s.
func (k *Holder) contents(s state) journal.Contents {
	c := journal.Contents{Cluster: s.cluster, Coord: k.Coord, Layout: k.LayoutText()}
	for _, e := range s.left {
		// The entry of a worker ID that is held has a mark at or above the one that was left.
		if !s.current.entersAs(e.Worker) && !s.draining.entersAs(e.Worker) {
			c.Lanes = append(c.Lanes, e)
		}
	}
	for _, h := range []holding{s.draining, s.current} {
		if h.opening != "" {
			c.Lanes = append(c.Lanes, journal.Entry{Worker: h.worker, Opening: h.opening, Claim: h.node, Mark: h.mark, Ceiling: h.granted})
		}
	}
	return c
}

// entersAs reports whether the journal has the holding, under that worker ID.
func (h holding) entersAs(worker int) bool { return h.opening != "" && h.worker == worker }

// end stops a holding and remembers how far it has issued: a coordinator that was wiped would not
// know. The caller holds mu.
func (k *Holder) end(h holding) generator.Tick {
	last := h.stop()
	if h.worker >= 0 {
		k.Spent.Note(h.worker, last)
	}
	return last
}

// stop closes the holding's lane and returns its last tick: the exact one, and the holding's mark
// if there is no lane.
func (h holding) stop() generator.Tick {
	if h.lane == nil {
		return h.mark
	}
	return h.lane.Close()
}
