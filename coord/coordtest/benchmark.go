package coordtest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

// BenchTree is a tree of a back-end for one benchmark.
type BenchTree struct {
	// Seed stores a record for each of the worker IDs below n.
	Seed func(b *testing.B, n int, value []byte)
	Open func(b *testing.B, identity coord.Identity) coord.Coordinator
}

// ahead is a record whose ceiling no benchmark waits for.
const ahead = `{"ceiling":2000000000000,"issued":1999999990000,"mark":1999999991000,"holder":"GTMJ5GDRTQ4UPJZ7X2SKQXVQ2K",` +
	`"claim":"0000000-12345-GTMJ5GDRTQ4UPJZ7X2SKQXVQ2K-4JZ7X2SKQXVQ2KGTMJ5GDRTQ4U","nonce":"7X2SKQXVQ2KGTMJ5GDRTQ4UPJZ"}`

// Benchmark measures claims in trees of 22 worker bits with few and with many records, all of them
// ahead of the clock, and re-leases where each worker ID has such a record.
func Benchmark(b *testing.B, tree func(b *testing.B) BenchTree) {
	for _, records := range []int{1, 1000, 100_000} {
		for _, c := range []struct {
			name    string
			workers int
			request coord.Request
		}{
			{"claim", coord.MaxWorkers, coord.Request{Worker: coord.AnyWorker}},
			{"re-lease", coord.MaxWorkers, coord.Request{Fresh: true}},
			{"re-lease that finds none", records, coord.Request{Fresh: true}},
		} {
			b.Run(fmt.Sprintf("%s/%d records", c.name, records), func(b *testing.B) {
				t := tree(b)
				n := t.Open(b, coord.Identity{Incarnation: rand.Text()})
				must.Get(n.Join(b.Context(), coord.Layout{Text: text, Workers: c.workers}))(b)
				t.Seed(b, records, []byte(ahead))
				b.ReportAllocs()
				for b.Loop() {
					claimOnce(b, n, c.request, c.workers == records)
				}
			})
		}
	}
}

// claimOnce claims a worker ID and gives it back, or finds that all are ahead.
func claimOnce(b *testing.B, n coord.Coordinator, r coord.Request, none bool) {
	c, err := Claim(b.Context(), n, r)
	var found *coord.AheadError
	switch {
	case none && errors.As(err, &found):
	case none || err != nil:
		b.Fatalf("Claim: %v", err)
	default:
		must.Do(b, c.Release(b.Context(), 0))
	}
}
