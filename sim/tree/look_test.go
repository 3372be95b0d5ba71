package tree_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/sim/tree"
)

// writes returns what was asked since the last call that is no mere read.
func (w *way) writes() []string {
	asked := w.asked
	w.asked = nil
	return slices.DeleteFunc(asked, func(what string) bool {
		return slices.Contains([]string{"list the claims", "list the records", "read the host's worker ID"}, what)
	})
}

const inTree = 8

// notedIn returns a coordinator in a cluster of 8 worker IDs.
func notedIn(t *testing.T, kind tree.Kind, of *tree.Tree, name string) (*claims.Coordinator, *way) {
	t.Helper()
	c, w := joined(t, kind, of, name, inTree, plain)
	w.writes()
	return c, w
}

func onBoth(t *testing.T, test func(t *testing.T, kind tree.Kind)) {
	for name, kind := range map[string]tree.Kind{"etcd": tree.Etcd, "ZooKeeper": tree.ZooKeeper} {
		t.Run(name, func(t *testing.T) { test(t, kind) })
	}
}

// A re-lease that finds no worker ID whose floor it would wait for has written nothing, and nor has
// the claim of a daemon that looks again while all are held.
func TestAClaimThatFindsNothingWritesNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, kind tree.Kind) {
		servers := tree.New(kind)
		holder, _ := notedIn(t, kind, servers, "holder")
		var held []coord.Claim
		for worker := range inTree {
			c, err := holder.Claim(t.Context(), coord.Request{Worker: worker, Latest: 1 << 40})
			if err != nil || c.Worker() != worker {
				t.Fatalf("worker ID %d: %v", worker, err)
			}
			must.Do(t, c.Extend(t.Context(), coord.Progress{Ceiling: 9000 - 10*generator.Tick(worker)}))
			held = append(held, c)
		}
		late, asked := notedIn(t, kind, servers, "late")
		for _, r := range []coord.Request{
			{Fresh: true, Latest: 1000},
			{Look: true, Worker: 3, Latest: 1000},
			{Look: true, Worker: coord.AnyWorker},
		} {
			var full *coord.ExhaustedError
			if _, err := late.Claim(t.Context(), r); !errors.As(err, &full) || full.Held != inTree {
				t.Errorf("Claim(%+v): %v, want an ExhaustedError of %d held", r, err, inTree)
			}
			if slices.Contains(asked.asked, "list the records") {
				t.Errorf("Claim(%+v) lists records, though all worker IDs are held", r)
			}
			if got := asked.writes(); len(got) > 0 {
				t.Errorf("Claim(%+v) with all worker IDs held writes: %q", r, got)
			}
		}
		for _, c := range held[:6] {
			must.Do(t, c.Release(t.Context(), coordtest.Closed(8000+100-generator.Tick(c.Worker()))))
		}
		r := coord.Request{Fresh: true, Latest: 1000}
		var ahead *coord.AheadError
		if _, err := late.Claim(t.Context(), r); !errors.As(err, &ahead) || *ahead != (coord.AheadError{Free: 6, Lowest: 8095, Latest: 1000}) {
			t.Errorf("Claim(%+v): %v, want an AheadError of 6 free above 8095", r, err)
		}
		if got := asked.writes(); len(got) > 0 {
			t.Errorf("a re-lease that finds nothing writes: %q", got)
		}
	})
}

// A claim that looks first and finds its sticky worker ID free takes that.
func TestAClaimThatLooksKeepsToItsWorkerID(t *testing.T) {
	onBoth(t, func(t *testing.T, kind tree.Kind) {
		servers := tree.New(kind)
		c, _ := notedIn(t, kind, servers, "host")
		for _, worker := range []int{5, coord.AnyWorker} { // the host's preference is that one then
			got, err := c.Claim(t.Context(), coord.Request{Look: true, Worker: worker, Latest: 1000})
			if err != nil || got.Worker() != 5 {
				t.Fatalf("asked for %d: %v", worker, err)
			}
			must.Do(t, got.Release(t.Context(), coordtest.Closed(500)))
		}
		got, err := c.Claim(t.Context(), coord.Request{Look: true, Worker: 5, Latest: 400})
		if err != nil || got.Worker() == 5 {
			t.Errorf("the worker ID that is too late was taken: %v", err)
		}
	})
}

// Two claimants that look first find an orphan of their own each on the only free worker ID, and
// the other's.
func TestOrphansOfTwoThatLook(t *testing.T) {
	onBoth(t, func(t *testing.T, kind tree.Kind) {
		servers := tree.New(kind)
		holder, _ := notedIn(t, kind, servers, "holder")
		for worker := range inTree - 1 {
			must.Get(holder.Claim(t.Context(), coord.Request{Worker: worker}))(t)
		}
		var all []*claims.Coordinator
		for i, name := range []string{"first", "second"} {
			c, asked := notedIn(t, kind, servers, name)
			asked.loses = "create a claim"
			if _, err := c.Claim(t.Context(), coord.Request{Worker: inTree - 1}); !errors.Is(err, errLost) {
				t.Fatalf("the %s claim: %v, want %v", name, err, errLost)
			}
			if got := servers.Claims(); got != inTree+i {
				t.Fatalf("%d claims are there after the %s: the case is void", got, name)
			}
			all = append(all, c)
		}
		won := 0
		for _, c := range []*claims.Coordinator{all[0], all[1], all[0], all[1]} {
			_, err := c.Claim(t.Context(), coord.Request{Look: true, Worker: coord.AnyWorker})
			var full *coord.ExhaustedError
			switch {
			case err == nil:
				won++
			case !errors.As(err, &full):
				t.Fatal(err)
			}
		}
		if won != 1 || servers.Claims() != inTree {
			t.Errorf("the free worker ID was given out %d times, and %d claims are left", won, servers.Claims())
		}
	})
}
