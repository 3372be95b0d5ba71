package tree_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/sim/tree"
)

// straight carries each request to its tree at once.
type straight struct{ tree *tree.Tree }

func (s straight) Carry(_ context.Context, _ string, _ bool, do func(*tree.Tree) func()) error {
	do(s.tree)()
	return nil
}

// TestAPowerCutOfAllHosts has all hosts of a cluster, which have run for longer than a window,
// start anew at once: a host waits only where all worker IDs are held or rest, and at most a
// window.
func TestAPowerCutOfAllHosts(t *testing.T) {
	const (
		workers = 1024
		window  = generator.Tick(10 * time.Minute / time.Millisecond)
		latest  = generator.Tick(time.Second / time.Millisecond) // --restart-wait
	)
	for _, c := range []struct{ hosts, wait int }{
		{300, 0}, {614, 2*614 - workers},
	} {
		for kind, name := range map[tree.Kind]string{tree.Etcd: "etcd", tree.ZooKeeper: "ZooKeeper"} {
			t.Run(fmt.Sprintf("%d hosts, %s", c.hosts, name), func(t *testing.T) {
				servers, clock := tree.New(kind), clocktest.NewManual(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
				now := generator.Tick(1_000_000)
				start := func(host, life int) coord.Claim {
					id := fmt.Sprintf("h%dl%d", host, life)
					d := must.Get(claims.New(tree.NewStore(kind, id, false, straight{servers}), claims.Config{
						Identity: coord.Identity{Host: fmt.Sprint("host", host), Incarnation: id}, Clock: clock,
					}))(t)
					layout := coord.Layout{Text: "a layout", Workers: workers, Window: window, Now: 1}
					if host == 0 && life == 0 {
						must.Get(coordtest.CreateAndJoin(t.Context(), d, layout))(t)
					} else {
						coordtest.Join(t, d, layout)
					}
					return must.Get(d.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: now + latest}))(t)
				}
				for host := range c.hosts {
					claim := start(host, 0)
					must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: now + window}))
				}
				for _, session := range servers.Sessions() {
					servers.End(session)
				}
				now += 20_000 // the hosts boot
				waiting, longest := 0, generator.Tick(0)
				for host := range c.hosts {
					if wait := start(host, 1).Floor() - now; wait > latest {
						waiting, longest = waiting+1, max(longest, wait)
					}
				}
				if waiting != c.wait || longest > window {
					t.Errorf("%d of %d hosts wait, the last for %d ticks; want %d, for at most %d", waiting, c.hosts, longest, c.wait, window)
				}
			})
		}
	}
}
