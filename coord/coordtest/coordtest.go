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
	// Open connects to the tree. The harness closes what the case does not.
	Open func(t testing.TB, identity coord.Identity) coord.Coordinator
	// Revoke ends the coordinator's session on the server and returns when its
	// claims are gone, whatever the client believes.
	Revoke func(t testing.TB, c coord.Coordinator)
	// Halt makes the servers stop answering for good. Nil if the back-end cannot.
	Halt func(t testing.TB)
	// Makes says that Join makes a cluster where none is.
	Makes bool
	// Wipe deletes the whole tree at once, as an operator may while daemons run.
	// Nil if the back-end cannot.
	Wipe func(t testing.TB)
	// Save returns a function that puts the tree back to what it is now, claims included, as a restore
	// from a backup does. Nil if the back-end cannot.
	Save func(t testing.TB) (restore func())
	// Fault makes one of the coordinator's requests to the servers fail, the one
	// that comes after n others from now. If landed, it takes place and only its
	// reply is lost; else it does not. Fault returns a function that reports
	// whether that has happened. Nil if the back-end cannot.
	Fault func(t testing.TB, c coord.Coordinator, n int, landed bool) (happened func() bool)
	// Delay holds one of the coordinator's requests to the servers back, the one
	// that comes after n others from now, and closes held. Its caller waits until
	// its context ends. Once that has happened, release sends the request and
	// returns when the servers have done what they will do about it. Nil if the
	// back-end cannot.
	Delay func(t testing.TB, c coord.Coordinator, n int) (held <-chan struct{}, release func())
	// Operator connects to the tree as people do. The harness closes what the case
	// does not. It is a coord.Coordinator too, which Fault takes.
	Operator func(t testing.TB) coord.Operator
}

// Run runs the kit, each case on a tree of its own.
func Run(t *testing.T, harness func(t *testing.T) Harness) {
	for _, group := range [][]testCase{creating, joining, assigning, sticking, several, recording, failing, abandoning, wiping, operating, raising, restoring, renaming, exporting, ranging, remembering, forbidding, fighting} {
		for _, c := range group {
			t.Run(c.name, func(t *testing.T) {
				k := &kit{TB: t, Harness: harness(t), workers: 8}
				if wipe := k.Wipe; wipe != nil {
					k.Wipe = func(t testing.TB) { wipe(t); k.made = false }
				}
				c.run(k)
			})
		}
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
	workers int
	largest generator.Tick // Layout.Window of those who join
	ids     coord.WorkerRange
	floor   generator.Tick // that the cluster is made with
	made    bool           // there is a cluster
}

// make makes a cluster unless the kit has.
func (k *kit) make() {
	k.Helper()
	if k.made {
		return
	}
	_, err := k.Operator(k).Create(k.Context(), k.cluster())
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

// node is a joined coordinator of one start of a daemon.
type node struct {
	coord.Coordinator
	k        *kit
	identity coord.Identity
	uuid     string
}

// start opens and joins a coordinator for a new start of a daemon on the host.
func (k *kit) start(host string) *node {
	k.Helper()
	return k.startBy(k.Open, host)
}

func (k *kit) startBy(open func(testing.TB, coord.Identity) coord.Coordinator, host string) *node {
	k.Helper()
	return k.startAfter(open, host, "")
}

// startAfter is startBy where the process of an incarnation is known to be dead.
func (k *kit) startAfter(open func(testing.TB, coord.Identity) coord.Coordinator, host, dead string) *node {
	k.Helper()
	k.make()
	n := &node{k: k, identity: coord.Identity{Host: host, PID: 4711, Incarnation: rand.Text(), Dead: dead, Version: "v0.0.0-test", Boot: "boot of " + host}}
	n.Coordinator = open(k, n.identity)
	cluster, err := n.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers, Window: k.largest})
	if err != nil {
		k.Fatalf("Join: %v", err)
	}
	n.uuid = cluster.UUID
	return n
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
	ms, err := n.Members(n.k.Context())
	if err != nil {
		n.k.Fatalf("Members: %v", err)
	}
	return ms
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
	if err := c.Release(k.Context(), last); err != nil {
		k.Fatalf("Release(%d) of worker ID %d: %v", last, c.Worker(), err)
	}
}

// floorOf claims the worker ID as a stranger, who must be able to, returns the
// floor that a stranger finds, and gives the worker ID back as it was.
func (k *kit) floorOf(worker int) generator.Tick {
	k.Helper()
	n := k.start("")
	c := n.claim(wanting(worker))
	if c.Worker() != worker {
		k.Fatalf("worker ID %d is not free: a stranger got %d", worker, c.Worker())
	}
	k.revoke(n)
	return c.Floor()
}

// ended returns a context that has ended.
func ended() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}
