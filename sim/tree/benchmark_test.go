package tree_test

import (
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/sim/tree"
)

// BenchmarkClaims measures what the claiming itself takes: the simulated servers are in memory.
func BenchmarkClaims(b *testing.B) {
	coordtest.Benchmark(b, func(*testing.B) coordtest.BenchTree {
		s := &servers{kind: tree.Etcd, tree: tree.New(tree.Etcd), halted: make(chan struct{}), links: map[coord.Coordinator]*link{}}
		return coordtest.BenchTree{
			Open: func(b *testing.B, identity coord.Identity) coord.Coordinator { return s.open(b, identity) },
			Seed: func(_ *testing.B, n int, value []byte) {
				for worker := range n {
					s.tree.SetRecord(worker, value, true)
				}
			},
		}
	})
}
