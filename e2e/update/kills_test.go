package update

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

// Two daemons with one directory are a cluster of two. Each is killed under load and started again: no
// ID comes twice, and no two of all their lives issue from one tick of a worker ID.
func TestTwoDaemonsOfOneDirectoryAreKilled(t *testing.T) {
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	directory, layout := filepath.Join(t.TempDir(), "coord"), must.Get(generator.ParseLayout("flakeward"))(t)
	var mu sync.Mutex
	lives, clusters := map[string][]int64{}, map[string]bool{}
	t.Run("both", func(t *testing.T) {
		for i := range 2 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				h := must.Get(process.NewHost(program, sockettest.Dir(t)+"/h", "--coord", "dir:"+directory, "--window", "1s", "--publish", "100ms"))(t)
				for n := range times(10, 1000) {
					d := start(t, h)
					c := ask(t, h.Socket, 2, true)
					told := info.Parse(must.Get(load.Ask(t.Context(), h.Socket, (*wire.Reader).Bulk, "INFO"))(t)).Map()
					must.Do(t, c.all[0].Await(t.Context(), 1+rand.IntN(5000)), d.Kill())
					mu.Lock()
					lives[fmt.Sprint(i, n)], clusters[told["cluster_id"]] = c.end(), true
					mu.Unlock()
				}
			})
		}
	})
	var all []int64
	for _, ids := range lives {
		all = append(all, ids...)
	}
	if n, shared := distinct(t, all), received.FindSharedTicks(layout, lives); shared.Shared > 0 || len(clusters) != 1 || n < 1000 {
		t.Errorf("%d IDs of the clusters %v; %d shared ticks: %q", n, clusters, shared.Shared, shared.Examples)
	}
	t.Logf("FIGURE %d lives, %d IDs", len(lives), len(all))
}

// A daemon is killed under load again and again, and its clock steps before it is started again: no ID
// comes twice, and no two of its lives issue from one tick of a worker ID. A start has another worker
// ID than the one that rests, so its first ID does not wait for the clock.
func TestADaemonIsKilledAndItsClockSteps(t *testing.T) {
	program := must.Get(process.Build(t.Context(), t.TempDir()))(t)
	onEachOf(t, program, nil, func(t *testing.T, h *process.Host) {
		layout := must.Get(generator.ParseLayout("flakeward"))(t)
		lives, all, waits := map[string][]int64{}, []int64(nil), []time.Duration(nil)
		offset, killed := time.Duration(0), time.Time{}
		for n := range times(10, 501) {
			d := launch(t, h)
			answers(t, h.Socket, d.Ended())
			if !killed.IsZero() {
				waits = append(waits, time.Since(killed))
			}
			c := ask(t, h.Socket, 2, true)
			must.Do(t, c.all[0].Await(t.Context(), 1+rand.IntN(5000)), d.Kill())
			killed = time.Now()
			lives[fmt.Sprint(n)] = c.end()
			all = append(all, lives[fmt.Sprint(n)]...)
			step := time.Duration(rand.Int64N(int64(10*time.Second))) - 5*time.Second
			// Below 0 it would wait for the floor of the cluster, which has just been made.
			offset = min(max(offset+step, 0), time.Minute)
			must.Do(t, h.Clock.Set(offset))
		}
		if n, shared := distinct(t, all), received.FindSharedTicks(layout, lives); shared.Shared > 0 || n < 100 {
			t.Errorf("%d IDs; %d shared ticks: %q", n, shared.Shared, shared.Examples)
		}
		slices.Sort(waits)
		t.Logf("FIGURE %d kills, %d IDs; to the first ID after a kill: %v in the middle, %v at most", len(waits), len(all),
			waits[len(waits)/2].Round(time.Millisecond), waits[len(waits)-1].Round(time.Millisecond))
	})
}

// A daemon is in a crash loop in a small cluster: few worker IDs rest, and the claims of the dead bar
// none, so another host that starts meanwhile has its first ID at once.
func TestACrashLoopLeavesWorkerIDsToOthers(t *testing.T) {
	layout := []string{"--layout", "time=41@1ms,worker=5,sequence=12;epoch=2026-01-01"}
	onEachOf(t, must.Get(binary())(t), append(layout, "--host", "looping"), func(t *testing.T, h *process.Host) {
		coordinator := h.Flags[3] // of two, the second counts
		most, loops := 0, times(40, 240)
		for n := range loops {
			d := launch(t, h)
			answers(t, h.Socket, d.Ended())
			must.Do(t, d.Kill())
			if n == loops/2 {
				other := must.Get(process.NewHost(h.Binary, sockettest.Dir(t)+"/other", append(layout, "--host", "other", "--coord", coordinator)...))(t)
				begun := time.Now()
				answers(t, other.Socket, launch(t, other).Ended())
				t.Logf("FIGURE another host's first ID after %v", time.Since(begun).Round(time.Millisecond))
			}
			<-time.After(200 * time.Millisecond) // of the loop
			if n%10 == 9 {
				var marks struct{ Supply struct{ Held, Resting int } }
				shown := must.Get(exec.CommandContext(t.Context(), h.Binary, "cluster", "marks", "--json", "--coord", coordinator).Output())(t)
				must.Do(t, json.Unmarshal(shown, &marks))
				if most = max(most, marks.Supply.Resting); marks.Supply.Held > 3 || marks.Supply.Resting == 0 {
					t.Errorf("of 32 worker IDs %d are held and %d rest", marks.Supply.Held, marks.Supply.Resting)
				}
			}
		}
		if most > 10 {
			t.Errorf("%d worker IDs rest, want 10 at most", most)
		}
		t.Logf("FIGURE %d crashes: %d worker IDs rest at most", loops, most)
	})
}
