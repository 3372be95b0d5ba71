// Package coordtest is the conformance kit for coordinators: the contract of
// package coord as tests. A back-end runs all of it with one line:
//
//	coordtest.Run(t, func(t *testing.T) coordtest.Harness { ... })
//
// Nothing in it sleeps: sessions end because the harness ends them.
package coordtest

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// Harness is one fresh, empty tree of a back-end.
type Harness struct {
	// Open connects to the tree. All requests of the coordinator to the servers go over the wire.
	// What it returns is a coord.Operator too. The harness closes what the case does not.
	Open func(t testing.TB, identity coord.Identity, wire *Wire) coord.Coordinator
	// Revoke ends the coordinator's session on the server and returns when its
	// claims are gone, whatever the client believes.
	Revoke func(t testing.TB, c coord.Coordinator)
	// Halt makes the servers stop answering for good. Nil if the back-end cannot.
	Halt func(t testing.TB)
	// Makes says that Join makes a cluster where none is.
	Makes bool
	// Wipe deletes the whole tree at once, as an operator may while daemons run.
	Wipe func(t testing.TB)
	// Save returns a function that puts the tree back to what it is now, claims included, as a
	// restore from a backup does.
	Save func(t testing.TB) (restore func())
}

// Run runs the kit, each case on a tree of its own.
func Run(t *testing.T, harness func(t *testing.T) Harness) {
	for _, c := range slices.Concat(creating, joining, assigning, sticking, several, recording, failing, abandoning, wiping, operating, raising, restoring, renaming, exporting, ranging, remembering, forbidding, fighting) {
		t.Run(c.name, func(t *testing.T) {
			c.run(&kit{TB: t, Harness: harness(t), workers: 8, wires: map[coord.Coordinator]*Wire{}})
		})
	}
}

type testCase struct {
	name string
	run  func(*kit)
}

// kit is what a case works with.
type kit struct {
	testing.TB
	Harness
	wires   map[coord.Coordinator]*Wire
	workers int
	largest generator.Tick // Layout.Window of those who join
	ids     coord.WorkerRange
	floor   generator.Tick // that the cluster is made with
	made    bool           // there is a cluster
}

// client is a coordinator, as daemons and people have it.
type client interface {
	coord.Coordinator
	coord.Operator
}

func (k *kit) open(identity coord.Identity) client {
	k.Helper()
	wire := &Wire{}
	c := k.Open(k, identity, wire).(client)
	k.wires[c] = wire
	return c
}

// wipe deletes the tree.
func (k *kit) wipe() {
	k.Helper()
	k.Wipe(k)
	k.made = false
}

// make makes a cluster unless the kit has.
func (k *kit) make() {
	k.Helper()
	if k.made {
		return
	}
	_, err := k.visitor().Create(k.Context(), k.cluster())
	if unserved := (*coord.NotServedError)(nil); err != nil && !errors.As(err, &unserved) {
		k.Fatalf("Create: %v", err)
	}
	k.made = true
}

// cluster is what the kit's clusters are made with.
func (k *kit) cluster() coord.NewCluster {
	return coord.NewCluster{Text: text, Workers: k.workers, Window: k.largest, Range: k.ids, Floor: k.floor}
}

// Join joins a cluster, which it makes before unless there is one.
func Join(t testing.TB, c coord.Coordinator, layout coord.Layout) coord.Cluster {
	t.Helper()
	return must.Get(CreateAndJoin(t.Context(), c, layout))(t)
}

// CreateAndJoin is Join for those who expect an error.
func CreateAndJoin(ctx context.Context, c coord.Coordinator, layout coord.Layout) (coord.Cluster, error) {
	_, err := c.(coord.Operator).Create(ctx, coord.NewCluster{Text: layout.Text, Workers: layout.Workers, Window: layout.Window})
	if err != nil {
		return coord.Cluster{}, err
	}
	return c.Join(ctx, layout)
}

// text is the layout of all cases. Coordinators do not read it.
const text = "time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z;datacenter=1"

// node is a coordinator of one start of a daemon.
type node struct {
	coord.Coordinator
	k        *kit
	identity coord.Identity
	uuid     string // of the cluster that it has joined
}

// start opens and joins a coordinator for a new start of a daemon on the host.
func (k *kit) start(host string) *node {
	k.Helper()
	return k.startAfter(host, "")
}

// startAfter is start where the process of an incarnation is known to be dead.
func (k *kit) startAfter(host, dead string) *node {
	k.Helper()
	k.make()
	n := k.stranger(host, dead)
	must.Do(k, n.join())
	return n
}

// stranger is a start of a daemon that has not joined yet.
func (k *kit) stranger(host, dead string) *node {
	k.Helper()
	n := &node{k: k, identity: coord.Identity{Host: host, PID: 4711, Incarnation: rand.Text(), Dead: dead, Version: "v0.0.0-test", Boot: "boot of " + host}}
	n.Coordinator = k.open(n.identity)
	return n
}

func (n *node) join() error {
	cluster, err := n.Join(n.k.Context(), coord.Layout{Text: text, Workers: n.k.workers, Window: n.k.largest})
	n.uuid = cluster.UUID
	return err
}

// anyone is a request without preferences that takes whatever floor there is.
func anyone() coord.Request {
	return coord.Request{Worker: coord.AnyWorker, Latest: 1 << 40}
}

// fresh is anyone without the host's preference.
func fresh() coord.Request {
	r := anyone()
	r.Fresh = true
	return r
}

// wanting is anyone with a worker ID in mind.
func wanting(worker int) coord.Request {
	r := anyone()
	r.Worker = worker
	return r
}

func (n *node) claim(r coord.Request) coord.Claim {
	n.k.Helper()
	c, err := n.Claim(n.k.Context(), r)
	if err != nil {
		n.k.Fatalf("Claim(%+v): %v", r, err)
	}
	return c
}

// hold claims a worker ID that is free.
func (n *node) hold(worker int) coord.Claim {
	n.k.Helper()
	c := n.claim(wanting(worker))
	if c.Worker() != worker {
		n.k.Fatalf("worker ID %d is not free: got %d", worker, c.Worker())
	}
	return c
}

// above is hold of a worker ID whose floor is known.
func (n *node) above(worker int, floor generator.Tick) coord.Claim {
	n.k.Helper()
	c := n.hold(worker)
	if c.Floor() != floor {
		n.k.Errorf("worker ID %d above %d, want it above %d", worker, c.Floor(), floor)
	}
	return c
}

// holder starts a daemon on the host, which claims the worker ID and is granted ticks.
func (k *kit) holder(host string, worker int, p coord.Progress) (*node, coord.Claim) {
	k.Helper()
	n := k.start(host)
	c := n.hold(worker)
	k.extend(c, p)
	return n, c
}

// atOpening has a request call do before each opening is sent.
func atOpening(r coord.Request, do func(worker int)) coord.Request {
	r.Before = func(worker int) error {
		if worker != coord.AnyWorker {
			do(worker)
		}
		return nil
	}
	return r
}

func (n *node) members() []coord.Member {
	n.k.Helper()
	return must.Get(n.Members(n.k.Context()))(n.k)
}

// member returns the live claim on the worker ID, if there is one.
func (n *node) member(worker int) (coord.Member, bool) {
	n.k.Helper()
	ms := n.members()
	i := slices.IndexFunc(ms, func(m coord.Member) bool { return m.Worker == worker })
	if i < 0 {
		return coord.Member{}, false
	}
	return ms[i], true
}

func (k *kit) revoke(n *node) {
	k.Helper()
	k.Revoke(k, n.Coordinator)
}

func (k *kit) extend(c coord.Claim, p coord.Progress) {
	k.Helper()
	if err := c.Extend(k.Context(), p); err != nil {
		k.Fatalf("Extend(%+v) of worker ID %d: %v", p, c.Worker(), err)
	}
}

func (k *kit) release(c coord.Claim, last generator.Tick) {
	k.Helper()
	if err := c.Release(k.Context(), Closed(last)); err != nil {
		k.Fatalf("Release(%d) of worker ID %d: %v", last, c.Worker(), err)
	}
}

// Closed is what Release takes: of a lane that has issued up to the tick, and was closed then.
func Closed(last generator.Tick) generator.Last {
	layout, _ := generator.ParseLayout("time=45@1s,worker=9,sequence=9;epoch=2026-01-01")
	lane, err := generator.NewLane(layout, 0, 0, max(0, last-1))
	if err != nil {
		panic(err) // the kit is wrong
	}
	lane.Raise(last)
	lane.Take(0, last, 1)
	closed := lane.Close()
	if closed.Or(-1) != last {
		panic("the layout has no such tick")
	}
	return closed
}

// floorOf claims the worker ID as a stranger, who must be able to, returns the
// floor that a stranger finds, and gives the worker ID back as it was.
func (k *kit) floorOf(worker int) generator.Tick {
	k.Helper()
	n := k.start("")
	c := n.hold(worker)
	k.revoke(n)
	return c.Floor()
}

// begins checks above what the worker ID's next holder begins.
func (k *kit) begins(worker int, above generator.Tick) {
	k.Helper()
	if got := k.floorOf(worker); got != above {
		k.Errorf("worker ID %d begins above %d, want above %d", worker, got, above)
	}
}

// wants checks the error of a call.
func (k *kit) wants(what string, err, want error) {
	k.Helper()
	if !errors.Is(err, want) {
		k.Errorf("%s: %v, want %v", what, err, want)
	}
}

// over checks that a claim is lost for good, whatever its holder calls.
func (k *kit) over(what string, c coord.Claim) {
	k.Helper()
	for range 2 {
		k.wants("Extend of "+what, c.Extend(k.Context(), coord.Progress{Ceiling: 1 << 30}), coord.ErrLost)
		k.wants("Release of "+what, c.Release(k.Context(), Closed(100)), coord.ErrLost)
	}
}

// visitor connects as people do.
func (k *kit) visitor() client {
	k.Helper()
	return k.open(coord.Identity{Incarnation: rand.Text()})
}

// operator is a visitor who has inspected the cluster.
func (k *kit) operator() client {
	k.Helper()
	o := k.visitor()
	must.Get(o.Inspect(k.Context()))(k)
	return o
}

// inspected is what a visitor finds.
func (k *kit) inspected() coord.Inspected {
	k.Helper()
	o := k.visitor()
	defer Close(k, o)
	return must.Get(o.Inspect(k.Context()))(k)
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
