package coordtest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// stormTimeout is how long a storm may take on a machine that is busy with much else.
const stormTimeout = 8 * time.Minute

// Storm lets daemons, each with a coordinator of its own that open returns, join and
// claim at once from as many worker IDs as there are daemons: everybody gets one, and
// its record. What fails is tried again, as daemons do. It logs how long that took,
// from the first connection to the last grant, and returns the claims.
func Storm(t testing.TB, daemons int, open func(coord.Identity) (coord.Coordinator, error)) []coord.Claim {
	t.Helper()
	const ceiling = generator.Tick(2000)
	if raceDetector { // the work of a storm is quadratic, and the detector makes it ten times as much
		daemons /= 4
	}
	claims := make([]coord.Claim, daemons)
	errs := make([]error, daemons)
	all := make([]coord.Coordinator, daemons)
	for i := range daemons {
		c := must.Get(open(coord.Identity{Host: fmt.Sprintf("h%d", i), Incarnation: fmt.Sprintf("i%d", i)}))(t)
		all[i] = c
	}
	t.Cleanup(func() {
		var wg sync.WaitGroup
		for _, c := range all {
			wg.Go(func() { _ = c.Close() }) // sessions that are left end with the servers
		}
		wg.Wait()
	})
	ctx, cancel := context.WithTimeout(t.Context(), stormTimeout)
	defer cancel()
	begun := clockguard.System{}.Now().Mono
	var again atomic.Int64
	var wg sync.WaitGroup
	for i, c := range all {
		wg.Go(func() {
			for {
				if claims[i], errs[i] = grantOf(ctx, c, daemons, ceiling); errs[i] == nil || ctx.Err() != nil {
					return
				}
				again.Add(1)
			}
		})
	}
	wg.Wait()
	took := time.Duration(clockguard.System{}.Now().Mono - begun)
	for _, err := range errs {
		if err != nil {
			t.Fatal(err) // one is enough, of a thousand
		}
	}
	t.Logf("%d daemons hold a worker ID and a grant each after %v; %d tries failed", daemons, took.Round(time.Millisecond), again.Load())
	held := map[int]bool{}
	for _, c := range claims {
		held[c.Worker()] = true
	}
	if len(held) != daemons {
		t.Errorf("%d daemons got %d worker IDs", daemons, len(held))
	}
	members := must.Get(all[0].Members(t.Context()))(t)
	ceilings := map[string]generator.Tick{}
	for _, m := range members { // a node that a failed try made may be among them yet
		ceilings[m.Claim] = m.Ceiling
	}
	for _, c := range claims {
		if got := ceilings[c.Name()]; got != ceiling {
			t.Errorf("worker ID %d, claim %s: the ceiling %d, want %d", c.Worker(), c.Name(), got, ceiling)
		}
	}
	return claims
}

// grantOf joins the cluster that it may make, claims a worker ID and gets its first grant.
func grantOf(ctx context.Context, c coord.Coordinator, workers int, ceiling generator.Tick) (coord.Claim, error) {
	if _, err := CreateAndJoin(ctx, c, coord.Layout{Text: "layout", Workers: workers}); err != nil {
		return nil, err
	}
	claim, err := c.Claim(ctx, coord.Request{Worker: coord.AnyWorker, Latest: 1000})
	if err != nil {
		return nil, err
	}
	for {
		err := claim.Extend(ctx, coord.Progress{Ceiling: ceiling})
		if err == nil || errors.Is(err, coord.ErrLost) || ctx.Err() != nil {
			return claim, err // one that is lost is replaced by another
		}
	}
}
