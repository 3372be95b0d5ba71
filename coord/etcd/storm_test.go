package etcd_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/embedded"
)

// A hosts' storm needs more room than one host.
var embeddedConfig = embedded.Config{Quota: 256 << 20}

// storm lets daemons claim at once from as many worker IDs as there are daemons.
func storm(t testing.TB, s *embedded.Server, round, daemons int) {
	t.Helper()
	got := make([]int, daemons)
	errs := make([]error, daemons)
	all := make([]*etcd.Coordinator, daemons)
	var wg sync.WaitGroup
	for i := range daemons {
		c, err := etcd.New(s.Client(), etcd.Config{
			Prefix:   fmt.Sprintf("storm%d", round),
			Identity: coord.Identity{Host: fmt.Sprintf("h%d", i), Incarnation: fmt.Sprintf("i%d", i)},
		})
		if err != nil {
			t.Fatal(err)
		}
		all[i] = c
		wg.Go(func() {
			if _, errs[i] = c.Join(t.Context(), coord.Layout{Text: "layout", Workers: daemons}); errs[i] != nil {
				return
			}
			claim, err := c.Claim(t.Context(), coord.Request{Worker: coord.AnyWorker, Latest: 1000})
			if err != nil {
				errs[i] = err
				return
			}
			got[i] = claim.Worker()
		})
	}
	wg.Wait()
	for _, c := range all {
		errs = append(errs, c.Close())
	}
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, w := range got {
		seen[w] = true
	}
	if len(seen) != daemons {
		t.Errorf("%d daemons got %d worker IDs", daemons, len(seen))
	}
}

func TestStorm(t *testing.T) {
	storm(t, startEmbedded(t, embeddedConfig), 0, 200)
}

func BenchmarkStorm(b *testing.B) {
	s := startEmbedded(b, embeddedConfig)
	for i := 0; b.Loop(); i++ {
		storm(b, s, i, 1000)
	}
}
