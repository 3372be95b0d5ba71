package generator_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// BenchmarkTakeOfTenants has one goroutine, or as many as there are processors, take single IDs:
// all of one tenant, or each of its own of 16. Tenants share nothing that is written per ID.
func BenchmarkTakeOfTenants(b *testing.B) {
	for _, tenants := range []uint32{1, 16} {
		b.Run(fmt.Sprintf("tenants=%d", tenants), func(b *testing.B) {
			_, ln := openLane(b, "time=35@1ms,worker=2,tenant=4,sequence=22;epoch=2026-01-01", 0)
			for tenant := range tenants {
				ln.Take(tenant, 1, 1)
			}
			var goroutines atomic.Uint32
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				tenant := goroutines.Add(1) % tenants
				var sum, i int64
				for pb.Next() {
					i++
					run, out := ln.Take(tenant, generator.Tick(1+i>>20), 1)
					if out != generator.Issued && out != generator.Passed {
						b.Error(out)
						return
					}
					sum += run.First
				}
				atomic.AddInt64(&sink, sum)
			})
		})
	}
}
