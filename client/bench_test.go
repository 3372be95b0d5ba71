package client_test

import (
	"os"
	"testing"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/must"
)

// socketOf is the socket of a daemon with that layout: the one that the variable names, if it is
// set, so that the daemon can be another process, else one in this process.
func socketOf(b *testing.B, layout, variable string) string {
	if socket := os.Getenv(variable); socket != "" {
		return socket
	}
	return start(b, dir(b), layout).Config.Socket.Path
}

const (
	roomySocket   = "FLAKEWARD_BENCH_ROOMY"
	defaultSocket = "FLAKEWARD_BENCH_DEFAULT"
)

// benchmarkNext has each goroutine take IDs one by one, after the client has warmed up.
func benchmarkNext(b *testing.B, c *client.Client, parallel bool) {
	ctx := b.Context()
	for begun := time.Now(); time.Since(begun) < 10*time.Millisecond; {
		must.Get(c.Next(ctx))(b)
	}
	b.ReportAllocs()
	b.ResetTimer()
	if parallel {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				if _, err := c.Next(ctx); err != nil {
					b.Error(err)
					return
				}
			}
		})
		return
	}
	for range b.N {
		must.Get(c.Next(ctx))(b)
	}
}

// BenchmarkNext is one ID over a layout with room, from a real daemon over its socket, everything
// included.
func BenchmarkNext(b *testing.B) {
	benchmarkNext(b, open(b, socketOf(b, roomy, roomySocket)), false)
}

func BenchmarkNextParallel(b *testing.B) {
	benchmarkNext(b, open(b, socketOf(b, roomy, roomySocket)), true)
}

// BenchmarkNextAtTheCeiling is one ID where the daemon has 4,096 in each millisecond: 244 ns.
func BenchmarkNextAtTheCeiling(b *testing.B) {
	benchmarkNext(b, open(b, socketOf(b, "flakeward", defaultSocket)), false)
}

// BenchmarkTake1000 is a thousand IDs at a time, over a layout with room.
func BenchmarkTake1000(b *testing.B) {
	c := open(b, socketOf(b, roomy, roomySocket))
	ctx := b.Context()
	runs := make([]client.Run, 0, 64)
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		var err error
		if runs, err = c.AppendTake(ctx, runs[:0], 1000); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/ID")
}
