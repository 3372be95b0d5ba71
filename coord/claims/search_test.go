package claims

import (
	"cmp"
	"context"
	"errors"
	"runtime"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// listed is a store whose claims and records are what the test says.
type listed struct {
	Store
	claims  []Node
	records map[int]Entry
	read    int
}

func (l *listed) Name() string                                        { return "listed" }
func (l *listed) Path(key string) string                              { return key }
func (l *listed) Claims(context.Context, Entry, bool) ([]Node, error) { return l.claims, nil }

func (l *listed) Records(_ context.Context, _ Entry, from int, visit func(int, Entry) bool) error {
	var workers []int
	for worker := range l.records {
		workers = append(workers, worker)
	}
	slices.SortFunc(workers, func(a, b int) int {
		return cmp.Or(cmp.Compare(btoi(a < from), btoi(b < from)), cmp.Compare(a, b))
	})
	for _, worker := range workers {
		l.read++
		if !visit(worker, l.records[worker]) {
			break
		}
	}
	return nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func (l *listed) free(worker int, floor generator.Tick) {
	l.records[worker] = Entry{Value: encode(record{Ceiling: floor, Holder: "h", Nonce: "n"}), Version: 1}
}

// claimantOn returns one of a cluster that assigns these worker IDs, of many more.
func claimantOn(t rapid.TB, l *listed, ids coord.WorkerRange, request coord.Request) claimant {
	t.Helper()
	c := must.Get(New(l, Config{Identity: coord.Identity{Incarnation: "a"}}))(t)
	c.cluster.joined = &cluster{record: layout{Workers: 4096}, allowed: ids, daemon: true}
	return claimant{c, request, ids}
}

// Whatever is held and recorded, a search finds the lowest floors, the nearest among equals, and
// how many worker IDs are free.
func TestASearchFindsTheBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		workers := rapid.IntRange(1, 40).Draw(t, "workers")
		first := rapid.IntRange(0, 3).Draw(t, "first")
		ids := rapid.IntRange(0, first+workers+2) // some are not the cluster's
		l := &listed{records: map[int]Entry{}}
		held := map[int]bool{}
		for _, worker := range rapid.SliceOfDistinct(ids, rapid.ID[int]).Draw(t, "held") {
			held[worker-first] = true
			l.claims = append(l.claims, Node{Name: "n", Worker: worker, Incarnation: "b"})
		}
		floors := map[int]generator.Tick{}
		for _, worker := range rapid.SliceOfDistinct(ids, rapid.ID[int]).Draw(t, "recorded") {
			floors[worker-first] = generator.Tick(rapid.IntRange(0, 8).Draw(t, "floor"))
			l.free(worker, floors[worker-first])
		}
		near, want := rapid.IntRange(0, workers-1).Draw(t, "near"), rapid.IntRange(1, 8).Draw(t, "want")
		cl := claimantOn(t, l, coord.WorkerRange{First: first, Count: workers}, coord.Request{Fresh: rapid.Bool().Draw(t, "fresh"), Latest: generator.Tick(rapid.IntRange(-1, 8).Draw(t, "latest"))})

		var all []candidate
		for distance := range workers {
			if worker := (near + distance) % workers; !held[worker] {
				all = append(all, candidate{first + worker, floors[worker], distance})
			}
		}
		slices.SortStableFunc(all, func(a, b candidate) int { return cmp.Compare(a.floor, b.floor) })
		free := len(all)
		found, err := cl.search(t.Context(), first+near, want)
		var full *coord.ExhaustedError
		var ahead *coord.AheadError
		switch {
		case free == 0:
			if !errors.As(err, &full) || full.Held != workers {
				t.Fatalf("with nothing free: %v", err)
			}
		case cl.request.Fresh && all[0].floor > cl.request.Latest:
			if !errors.As(err, &ahead) || *ahead != (coord.AheadError{Free: free, Lowest: all[0].floor, Latest: cl.request.Latest}) {
				t.Fatalf("with %d free above %d: %v", free, all[0].floor, err)
			}
		case err != nil:
			t.Fatal(err)
		case !slices.Equal(found.best, all[:min(want, free)]):
			t.Fatalf("found %v, want %v", found.best, all[:min(want, free)])
		case found.nearest != (!held[near] && floors[near] <= cl.request.Latest):
			t.Fatalf("that worker ID %d suits is said to be %v", near, found.nearest)
		}
	})
}

// A claim in a tree with millions of worker IDs and few claims and records takes little room, and
// one with many records reads few of them.
func TestASearchReadsAndKeepsNoMoreThanItNeeds(t *testing.T) {
	l := &listed{records: map[int]Entry{}}
	for worker := range 10 {
		l.claims = append(l.claims, Node{Name: "n", Worker: worker, Incarnation: "b"})
		l.free(worker, 5)
	}
	cl := claimantOn(t, l, coord.WorkerRange{Count: coord.MaxWorkers}, coord.Request{Fresh: true})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	found, err := cl.search(t.Context(), 0, 4)
	runtime.ReadMemStats(&after)
	if err != nil || found.best[0].worker != 10 || len(found.best) != 4 {
		t.Fatalf("found %v, %v", found, err)
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 64<<10 {
		t.Errorf("%d bytes for 10 claims and 10 records", took)
	}

	const many = 5 * considered
	for worker := range many {
		l.free(worker, generator.Tick(many-worker))
	}
	cl = claimantOn(t, l, coord.WorkerRange{Count: many}, coord.Request{Latest: many})
	l.read = 0
	if found, err = cl.search(t.Context(), 100, 4); err != nil || len(found.best) != 4 {
		t.Fatalf("found %v, %v", found, err)
	}
	if l.read > considered+10 {
		t.Errorf("%d records were read, though the first %d suit", l.read, considered)
	}
	if best := found.best[0]; best.worker != 100+considered-1 {
		t.Errorf("the best is %v, want the lowest floor of those that were read", best)
	}
}
