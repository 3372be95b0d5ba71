package update

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

// Two daemons with one directory are a cluster of two. Each is killed under load and started again:
// no ID comes twice, and no two of all their lives issue from one tick of a worker ID.
func TestTwoDaemonsOfOneDirectoryAreKilled(t *testing.T) {
	program := must.Get(binary())(t)
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

// A daemon is killed under load again and again, and its clock steps before it is started again: no
// ID comes twice, and no two of its lives issue from one tick of a worker ID. A start has another
// worker ID than the one that rests, so its first ID does not wait for the clock.
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

// A daemon is in a crash loop in a small cluster: few worker IDs rest, and the claims of the dead
// bar none, so another host that starts meanwhile has its first ID at once.
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

// A cluster assigns one worker ID. A daemon that is killed and started again has to have that one
// again, says until when its high-water mark keeps it from issuing, and serves once the clock has
// passed that: its first ID is above the record's ceiling, and above each ID of before.
func TestARestartWaitsForTheHighWaterMark(t *testing.T) {
	cluster := []string{"--layout", "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01", "--window", "2s"}
	layout := must.Get(generator.ParseLayout(cluster[1]))(t)
	flags := append(slices.Clone(cluster), "--publish", "500ms", "--restart-wait", "0s", "--max-block", "1m")
	onEachOf(t, must.Get(binary())(t), flags, func(t *testing.T, h *process.Host) {
		coordinator := h.Flags[3] // of two, the second counts
		run := func(args ...string) []byte {
			t.Helper()
			return must.Get(exec.CommandContext(t.Context(), h.Binary, append([]string{"cluster"}, append(args, "--coord", coordinator)...)...).Output())(t)
		}
		run(append([]string{"create", "--empty", "--range", "0-0"}, cluster...)...)
		var all []int64
		mark, waited, longest := generator.Tick(0), 0, time.Duration(0)
		for range times(4, 40) {
			d := launch(t, h)
			said(t, h, d) // as soon as it answers, it is asked for IDs
			c := ask(t, h.Socket, 2, true)
			if floor := waits(t, h, d, mark, layout); floor > 0 {
				waited++
				mark, longest = floor, max(longest, time.Until(layout.StartOf(floor+1)))
			}
			must.Do(t, c.all[0].Await(t.Context(), 1))
			if early := time.Until(layout.StartOf(mark + 1)); early > 0 {
				t.Errorf("an ID came %v before the clock had passed the mark", early)
			}
			must.Do(t, c.all[0].Await(t.Context(), 1+rand.IntN(5000)), d.Kill())
			ids := c.end()
			first := slices.Min(ids)
			if p := must.Get(layout.Decompose(first))(t); p.Tick <= mark || p.Worker != 0 || len(all) > 0 && first <= slices.Max(all) {
				t.Errorf("the first ID has worker ID %d and tick %d, and the record's ceiling was %d", p.Worker, p.Tick, mark)
			}
			all = append(all, ids...)
			var marks struct {
				Marks []struct {
					Ceiling generator.Tick `json:"ceiling_tick"`
				}
			}
			must.Do(t, json.Unmarshal(run("marks", "--json"), &marks))
			if len(marks.Marks) != 1 {
				t.Fatalf("the cluster has the marks %+v, want those of one worker ID", marks.Marks)
			}
			mark = marks.Marks[0].Ceiling
		}
		if n := distinct(t, all); waited == 0 {
			t.Errorf("no restart had to wait: nothing is shown by %d IDs", n)
		}
		t.Logf("FIGURE %d restarts waited for the mark, %v at most; %d IDs", waited, longest.Round(time.Millisecond), len(all))
	})
}

// said is what a daemon says of itself, as soon as it answers.
func said(t *testing.T, h *process.Host, d *process.Daemon) map[string]string {
	t.Helper()
	for {
		if text, err := load.Ask(t.Context(), h.Socket, (*wire.Reader).Bulk, "INFO"); err == nil {
			return info.Parse(text).Map()
		}
		select {
		case <-d.Ended():
			t.Fatal(d.Gone())
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// waits returns the floor that a daemon says it waits for, once it does; 0 if the clock has passed
// the mark meanwhile.
func waits(t *testing.T, h *process.Host, d *process.Daemon, mark generator.Tick, layout *generator.Layout) generator.Tick {
	t.Helper()
	for {
		now := said(t, h, d)
		tick := func(key string) generator.Tick {
			return generator.Tick(must.Get(strconv.ParseInt(now[key], 10, 64))(t))
		}
		if now["condition_code"] == string(condition.FloorAhead) {
			floor := tick("floor")
			until := "no ID before " + layout.StartOf(floor+1).UTC().Format(time.RFC3339)
			if floor < mark || !strings.Contains(now["condition"], until) {
				t.Errorf("the mark is %d, the floor %d, and it says %q, want %q in it", mark, floor, now["condition"], until)
			}
			return floor
		}
		if tick("now") > mark {
			return 0
		}
	}
}
