package uuid7_test

import (
	"bytes"
	"flag"
	"slices"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

var long = flag.Bool("long", false, "the long form: 100 million UUIDs")

// many is how many IDs of each layout are written and read.
func many() int {
	if *long {
		return 20_000_000
	}
	return 200_000
}

// TestManyUUIDs: of the IDs of several workers and tenants, tick by tick and in order within a tick,
// each UUID is above the one before, so none is there twice, and each is decoded to its ID.
func TestManyUUIDs(t *testing.T) {
	var group sync.WaitGroup
	for _, layout := range fuzzed {
		group.Go(func() { manyOf(t, layout) })
	}
	group.Wait()
	if t.Failed() {
		return
	}
	t.Logf("FIGURE %d UUIDs of %d layouts: no duplicate, and each ID had back", len(fuzzed)*many(), len(fuzzed))
}

func manyOf(t *testing.T, layout string) {
	c, l := coder(t, layout, cluster)
	var last [16]byte
	for tick, seen := l.MaxTick()/2, 0; seen < many(); tick++ {
		ids := ofTick(t, l, tick)
		for _, id := range ids {
			u, err := c.Encode(id)
			if err != nil || bytes.Compare(u[:], last[:]) <= 0 {
				t.Errorf("layout %s: the UUID of %d, %x, is not above the one before, %x: %v", l, id, u, last, err)
				return
			}
			if back, err := c.Decode(u); back != id || err != nil {
				t.Errorf("layout %s: %d is %x, which is decoded as %d, %v", l, id, u, back, err)
				return
			}
			last = u
		}
		seen += len(ids)
	}
}

// ofTick are IDs of a tick, of 4 workers and up to 2 tenants, in order.
func ofTick(t *testing.T, l *generator.Layout, tick generator.Tick) (ids []int64) {
	for worker := range uint64(4) {
		for tenant := range min(l.Max(generator.Tenant), 1) + 1 {
			for sequence := range min(l.Max(generator.Sequence)+1, 250) {
				id, err := l.Compose(generator.Parts{Tick: tick, Worker: worker, Tenant: tenant, Sequence: sequence})
				if err != nil {
					t.Error(err)
				}
				ids = append(ids, id)
			}
		}
	}
	slices.Sort(ids)
	return ids
}
