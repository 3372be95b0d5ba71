package coordtest

import (
	"crypto/rand"
	"sync"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// window is what an operator finds.
func (k *kit) window() generator.Tick {
	k.Helper()
	v := must.Get(k.Operator(k).Inspect(k.Context()))(k)
	return v.Window
}

// join joins with a window, as a start of a daemon does.
func (k *kit) join(window generator.Tick) (*node, error) {
	n := k.stranger()
	return n, n.joinWith(window)
}

// stranger is a daemon that has not joined yet.
func (k *kit) stranger() *node {
	n := &node{k: k, identity: coord.Identity{Incarnation: rand.Text()}}
	n.Coordinator = k.Open(k, n.identity)
	return n
}

func (n *node) joinWith(window generator.Tick) error {
	cluster, err := n.Join(n.k.Context(), coord.Layout{Text: text, Workers: n.k.workers, Window: window})
	n.uuid = cluster.UUID
	return err
}

// A window is in the record before anything is claimed with it, and only a larger one
// takes its place. Nobody who holds a claim notices.
func windows(k *kit) {
	n := k.start("a") // it does not say
	if got := k.window(); got != 0 {
		k.Fatalf("nobody has said a window, and it is %d", got)
	}
	c := n.claim(wanting(1))
	k.extend(c, coord.Progress{Ceiling: 500})
	for _, test := range []struct{ joins, want generator.Tick }{{600, 600}, {100, 600}, {0, 600}, {600, 600}, {601, 601}, {9000, 9000}} {
		other, err := k.join(test.joins)
		if err != nil || other.uuid != n.uuid {
			k.Fatalf("a window of %d: cluster %s, %v", test.joins, other.uuid, err)
		}
		if got := k.window(); got != test.want {
			k.Errorf("after one of %d the window is %d, want %d", test.joins, got, test.want)
		}
		k.extend(c, coord.Progress{Ceiling: c.Floor() + 500 + test.joins})
		Close(k, other)
	}
	if _, err := k.join(-1); err == nil {
		k.Error("a negative window has joined")
	}
	k.raise(k.operator(), 20_000)
	if got := k.window(); got != 9000 {
		k.Errorf("after a raise the window is %d, want 9000", got)
	}
	if other, err := k.join(9500); err != nil || other.uuid != n.uuid {
		k.Fatal(err)
	}
	if v, err := k.Operator(k).Inspect(k.Context()); err != nil || v.Window != 9500 || v.Floor != 20_000 || v.ClusterEpoch == "" {
		k.Errorf("a window has changed what was raised: %+v, %v", v, err)
	}
	// Of many at once the largest stays.
	var all sync.WaitGroup
	for i := range generator.Tick(8) {
		n := k.stranger() // a kit is for one goroutine
		all.Go(func() {
			if err := n.joinWith(10_000 + i); err != nil {
				k.Error(err)
			}
		})
	}
	all.Wait()
	if got := k.window(); got != 10_007 {
		k.Errorf("after eight at once the window is %d, want 10007", got)
	}
	if k.Fault == nil {
		return
	}
	for _, landed := range []bool{false, true} {
		for i := 0; ; i++ {
			wants := k.window() + 1
			c := k.Open(k, coord.Identity{Incarnation: rand.Text()})
			happened := k.Fault(k, c, i, landed)
			_, failure := c.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers, Window: wants})
			if failure == nil && k.window() != wants {
				k.Errorf("request %d, landed %v: joined with a window of %d, and the record has %d", i, landed, wants, k.window())
			}
			if !happened() {
				if i == 0 || failure != nil {
					k.Fatalf("request %d, landed %v: %v; the case is void", i, landed, failure)
				}
				break
			}
			if _, err := c.Join(k.Context(), coord.Layout{Text: text, Workers: k.workers, Window: wants}); err != nil || k.window() != wants {
				k.Errorf("request %d, landed %v: made again, %v with a window of %d, want %d", i, landed, err, k.window(), wants)
			}
		}
	}
}
