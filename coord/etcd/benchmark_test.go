package etcd_test

import (
	"fmt"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/internal/must"
)

// BenchmarkClaims measures claims on a server in this process: memory and allocations are those of
// both.
func BenchmarkClaims(b *testing.B) {
	coordtest.Benchmark(b, func(b *testing.B) coordtest.BenchTree {
		client := etcdtest.Start(b, etcdtest.Options{}).Client()
		return coordtest.BenchTree{
			Open: func(b *testing.B, identity coord.Identity) coord.Coordinator {
				return newHarness(client, etcd.Config{}).open(b, identity)
			},
			Seed: func(b *testing.B, n int, value []byte) {
				const together = 100 // a transaction has 128 operations at the most
				for first := 0; first < n; first += together {
					var puts []clientv3.Op
					for worker := first; worker < min(n, first+together); worker++ {
						puts = append(puts, clientv3.OpPut(fmt.Sprintf("%sworkers/%07d", etcd.DefaultPrefix, worker), string(value)))
					}
					must.Get(client.Txn(b.Context()).Then(puts...).Commit())(b)
				}
			},
		}
	})
}
