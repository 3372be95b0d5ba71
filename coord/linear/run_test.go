package linear_test

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	random "math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/linear"
	"github.com/flakeward/flakeward/generator"
)

var (
	long = flag.Bool("long", false, "the long form: many histories, for some minutes")
	seed = flag.Uint64("seed", 0, "what chance begins with; 0: another each time, which is printed")
)

const (
	workers = 3 // worker IDs, which are too few for all
	daemons = 6
	starts  = 5 // of each daemon that may end abruptly

	// longTimeout is how long a call waits that may take its time, and attempt
	// each of its requests.
	longTimeout = 5 * time.Second
	attempt     = 1500 * time.Millisecond
	// A mortal session ends within a history, if it is cut off; no other does.
	brief   = 2 * time.Second
	lasting = 5 * time.Minute
	// give is how long servers that were broken may take to be of use again.
	give = 6 * time.Minute
)

var layout = coord.Layout{Text: "layout", Workers: workers}

// operated is what a coordinator of each back-end is.
type operated interface {
	coord.Coordinator
	coord.Operator
}

// servers are those of a back-end.
type servers struct {
	addresses []string
	// dial opens a coordinator on a tree.
	dial func(addresses []string, tree string, identity coord.Identity, timeout time.Duration) (operated, error)
	// revoke ends the session that a claim's node is in. Nil: nobody can.
	revoke func(ctx context.Context, tree, claim string) error
	// inject breaks a server, or several, until mend is called. It is for the test's goroutine.
	inject func(rng *random.Rand) (what string, mend func())
	// fresh is whether what is read was stored between the question and the answer, also
	// while servers are broken. A leader of ZooKeeper that was paused, and does not know
	// yet that another leads, answers with what it knew.
	fresh bool
}

// historyRun is one run that makes a history.
type historyRun struct {
	*recorder
	t       *testing.T
	ctx     context.Context // the test's
	servers servers
	tree    string
	revoke  func(ctx context.Context, claim string) error

	mu       sync.Mutex
	sessions []coord.Coordinator
	grips    map[string]*grip // by the name of the claim
	cleared  []clearing
	top      generator.Tick // the highest floor
	numbers  int
	failed   bool
}

// fail is t.Errorf, once.
func (w *historyRun) fail(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.failed {
		w.t.Errorf(format, args...)
	}
	w.failed = true
}

// unexpected fails the test if err is one that no fault here can cause.
func (w *historyRun) unexpected(err error) bool {
	var restored *coord.RestoredError
	var other *coord.LayoutError
	if errors.Is(err, coord.ErrOtherCluster) || errors.Is(err, coord.ErrClosed) || errors.Is(err, coord.ErrNotJoined) ||
		errors.As(err, &restored) || errors.As(err, &other) {
		w.fail("that is not so: %v", err)
		return true
	}
	return false
}

func (w *historyRun) dial(addresses []string, identity coord.Identity, mortal bool) operated {
	timeout := lasting
	if mortal {
		timeout = brief
	}
	c, err := w.servers.dial(addresses, w.tree, identity, timeout)
	if err != nil {
		w.fail("dial: %v", err)
	}
	return c
}

// opened has the coordinator closed in the end.
func (w *historyRun) opened(c coord.Coordinator) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sessions = append(w.sessions, c)
}

func (w *historyRun) hold(g *grip) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.grips[g.Name()] = g
	w.top = max(w.top, g.Floor())
}

// clearing is what an operator did to a claim. Whose that is may not be known yet: its
// opening may still be under way.
type clearing struct {
	name string
	op   linear.Op
}

func (w *historyRun) clearing(c clearing) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cleared = append(w.cleared, c)
}

// settle notes what was done to claims that somebody was told of.
func (w *historyRun) settle() {
	for _, c := range w.cleared {
		if g := w.grips[c.name]; g != nil {
			c.op.Worker, c.op.Opening = g.Worker(), g.Opening()
			w.note(c.op)
		}
	}
}

func (w *historyRun) number() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.numbers++
	return w.numbers
}

// close closes all coordinators, some of which are cut off.
func (w *historyRun) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	var all sync.WaitGroup
	for _, c := range w.sessions {
		all.Go(func() { _ = c.Close() })
	}
	all.Wait()
}

// operator looks at the records, clears claims and raises all marks, over a network that
// nothing breaks.
type operator struct {
	w      *historyRun
	client int
	rng    *random.Rand
	c      operated
}

func (o *operator) run(ctx context.Context) {
	for ctx.Err() == nil {
		switch n := o.rng.IntN(100); {
		case n < 84:
			o.read()
		case n < 98:
			o.clear()
		default:
			o.raise()
		}
		pause(ctx, time.Duration(20+o.rng.IntN(80))*time.Millisecond)
	}
}

// read reports whether it was answered.
func (o *operator) read() bool {
	ctx, cancel := context.WithTimeout(o.w.ctx, longTimeout)
	defer cancel()
	call := o.w.now()
	if !o.w.servers.fresh && !o.wrote(ctx) {
		return false
	}
	marks, err := o.c.Marks(ctx)
	if err != nil {
		o.w.unexpected(err)
		return false
	}
	ops := make([]linear.Op, workers)
	for i := range ops {
		ops[i] = linear.Op{Client: o.client, Kind: linear.Read, Worker: i, Call: call, Return: o.w.now()}
	}
	for _, m := range marks {
		ops[m.Worker].Found = m
	}
	o.w.note(ops...)
	return true
}

// wrote has the session write something, and reports whether that was done: what it reads
// then is at least as new. To be told the time of ZooKeeper's leader it sets a node.
func (o *operator) wrote(ctx context.Context) bool {
	shown, err := o.c.Clocks(ctx)
	if err == nil && len(shown) == 0 {
		o.w.fail("no server was asked for the time, so that what is read may be old")
	}
	return err == nil && shown[0].Err == nil
}

// clear frees a worker ID, also one that is blocked by a node that nobody knows of.
func (o *operator) clear() {
	ctx, cancel := context.WithTimeout(o.w.ctx, longTimeout)
	defer cancel()
	members, err := o.c.Members(ctx)
	if err != nil || len(members) == 0 {
		return
	}
	name := members[o.rng.IntN(len(members))].Claim
	e := linear.Op{Client: o.client, Kind: linear.End, Call: o.w.now()}
	err = o.c.Clear(ctx, name)
	e.Return = o.w.now()
	switch {
	case err == nil:
	case errors.Is(err, coord.ErrNoClaim):
		if !o.w.servers.fresh {
			return
		}
		e.Outcome = linear.Lost
	case o.w.unexpected(err):
		return
	default: // it may have been deleted, or be yet
		e.Outcome = linear.Unknown
	}
	o.w.clearing(clearing{name, e})
}

func (o *operator) raise() {
	ctx, cancel := context.WithTimeout(o.w.ctx, longTimeout)
	defer cancel()
	o.w.mu.Lock()
	to := o.w.top + generator.Tick(o.rng.IntN(300))
	o.w.mu.Unlock()
	r := linear.Op{Client: o.client, Kind: linear.Raise, To: to, ClusterEpoch: fmt.Sprint(o.w.number()), Call: o.w.now()}
	raised, err := o.c.Raise(ctx, to)
	r.Return, r.Before = o.w.now(), raised.From
	if err != nil {
		if o.w.unexpected(err) {
			return
		}
		r.Outcome = linear.Unknown
	}
	o.w.note(r)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
}

// record makes one history: it goes on for at least the span and until so many writes
// were acknowledged.
func record(t *testing.T, s servers, tree string, chance uint64, span time.Duration, writes int) []linear.Op {
	t.Helper()
	w := &historyRun{recorder: newRecorder(), t: t, ctx: context.Background(), servers: s, tree: tree, grips: map[string]*grip{}}
	if s.revoke != nil {
		w.revoke = func(ctx context.Context, claim string) error { return s.revoke(ctx, tree, claim) }
	}
	source := func(n uint64) *random.Rand { return random.New(random.NewPCG(chance, n)) }
	op := &operator{w: w, client: daemons, rng: source(daemons), c: w.dial(s.addresses, coord.Identity{Incarnation: rand.Text()}, false)}
	w.opened(op.c)
	joining, cancel := context.WithTimeout(t.Context(), give)
	for {
		if _, err := op.c.Join(joining, layout); err == nil {
			break
		} else if joining.Err() != nil {
			t.Fatalf("join: %v", err)
		}
		pause(joining, 20*time.Millisecond)
	}
	cancel()
	running, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for i := range daemons {
		d := &daemon{w: w, client: i, rng: source(uint64(i)), journal: map[int]*grip{}}
		for range starts {
			d.networks = append(d.networks, networkTo(t, s.addresses))
		}
		all.Go(func() { d.run(running) })
	}
	all.Go(func() { op.run(running) })

	rng := source(daemons + 1)
	limit, cancel := context.WithTimeout(t.Context(), span+give)
	defer cancel()
	var injected []string
	for limit.Err() == nil && (w.now() < int64(span) || w.acknowledged() < writes) {
		// On a machine that is busy, calm lasts until something was done in it.
		for enough := w.acknowledged() + rng.IntN(12); limit.Err() == nil && w.acknowledged() < enough; {
			pause(limit, 20*time.Millisecond)
		}
		pause(limit, time.Duration(200+rng.IntN(800))*time.Millisecond)
		what, mend := s.inject(rng)
		injected = append(injected, what)
		pause(limit, time.Duration(100+rng.IntN(700))*time.Millisecond)
		mend()
	}
	stop()
	all.Wait()
	if w.acknowledged() < writes {
		t.Errorf("only %d writes were acknowledged within %v", w.acknowledged(), span+give)
	}
	// What is stored in the end is all that there was.
	for ; limit.Err() == nil && !op.read(); pause(limit, 20*time.Millisecond) {
	}
	w.close()
	w.settle()
	t.Logf("%d faults of servers: %v", len(injected), injected)
	return w.history()
}

// more is how many further histories are recorded where the first ones had too little in them,
// which a busy machine and chance may come to.
const more = 9

// prove records histories on the servers and judges them.
func prove(t *testing.T, s servers) {
	t.Helper()
	chance := *seed
	if chance == 0 {
		chance = random.Uint64()
	}
	rounds, span, writes := 1, 8*time.Second, 120
	if *long {
		rounds, span = 10, 25*time.Second
	}
	var all [3]int
	for i := 0; i < rounds || i < rounds+more && slices.Min(all[:]) < rounds*least; i++ {
		t.Logf("history %d: -args -seed %d", i, chance)
		history := record(t, s, fmt.Sprintf("tree%d", i), chance, span, writes)
		judge(t, history)
		taken, lost, unknown := stir(history)
		t.Logf("%d openings by another than before, %d losses, %d unknown outcomes", taken, lost, unknown)
		for k, n := range []int{taken, lost, unknown} {
			all[k] += n
		}
		if t.Failed() {
			return
		}
		chance++
	}
	if slices.Min(all[:]) < rounds*least {
		t.Errorf("too little happened to prove anything: %d openings by another, losses and unknown outcomes in all histories, of each of which there must be %d", all, rounds*least)
	}
}
