//go:build e2e

package drills

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

func init() {
	register(
		Drill{
			Name: "paused",
			What: "a daemon is paused for longer than --ttl: a directory knows that it lives, so nobody gets its worker ID, and it issues on when it is resumed",
			On:   onDirectory,
			Options: Options{
				Layout: "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01", // two worker IDs for three daemons
				Ready:  2, MaxBlock: 500 * time.Millisecond, Least: -1,
			},
			Script: paused,
			Judge:  judgePaused,
		},
		Drill{
			Name:    "directory-full",
			What:    "the disk of the directory is filled under load: each daemon is granted more all the same; one that is killed says why it does not serve, and does when there is room again",
			On:      onDirectory,
			Options: Options{Small: true, MaxBlock: 500 * time.Millisecond, Window: 5 * time.Second},
			Script:  directoryFull,
			Judge:   judgeDirectoryFull,
		},
		Drill{
			Name:   "directory-copied",
			What:   "a daemon is started on a copy of the directory that others use: it is refused and says what to do, and they are not disturbed",
			On:     onDirectory,
			Script: directoryCopied,
			Judge:  judgeDirectoryCopied,
		},
	)
}

// pausing is a daemon that is paused while others run.
type pausing struct {
	walking
	from, until evidence.Mono
}

var pausings notes[pausing]

func paused(ctx context.Context, r *Run) {
	seen := pausings.of(r)
	must(seen.cast(ctx, r))
	must(all(ctx, []*Host{seen.sleeper, seen.other}, 1000))
	seen.had = mustGet(holds(ctx, seen.sleeper))
	r.Step("pausing %s, which holds worker ID %d", seen.sleeper.Name, seen.had.worker)
	seen.from = evidence.Now()
	must(seen.sleeper.Pause(ctx))
	must(r.Last(ctx, 3*r.options.TTL))
	seen.until = evidence.Now()
	must(seen.sleeper.Resume(ctx))
	must(all(ctx, []*Host{seen.sleeper, seen.other}, 1000))
}

func judgePaused(res *Result) {
	seen := pausings.of(res.Run)
	noneFailed(res, seen.other.Index, res.Drill.Began, res.Drill.Ended)
	noneFailed(res, seen.sleeper.Index, res.Drill.Began, seen.from)
	if got := res.Workers(seen.sleeper.Index, res.Drill.Began, res.Drill.Ended); !slices.Equal(got, []int{seen.had.worker}) {
		res.Fail("%s issued from worker IDs %v, and held %d", seen.sleeper.Name, got, seen.had.worker)
	}
	if n := res.Host(seen.successor.Index).IDs(res.Drill.Began, res.Drill.Ended); n > 0 {
		res.Fail("%s issued %d IDs, and no worker ID was free", seen.successor.Name, n)
	}
}

// filling is a disk that was full.
type filling struct{ killed evidence.Mono }

var fillings notes[filling]

// fullGrants is how often each daemon has to be granted more on a disk that is full.
const fullGrants = 4

func directoryFull(ctx context.Context, r *Run) {
	seen, h := fillings.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	r.Step("the disk of the directory is filled")
	must(r.FillDirectory(ctx))
	ceilings := make([]map[string]bool, len(r.Hosts))
	must(lookUntil(ctx, r, "grants that move on", func() error {
		for i, h := range r.Hosts {
			now, err := h.Info(ctx)
			if err != nil {
				return err
			}
			if ceilings[i] == nil {
				ceilings[i] = map[string]bool{}
			}
			if ceilings[i][now["ceiling"]] = true; len(ceilings[i]) <= fullGrants {
				return fmt.Errorf("%s was granted more %d times", h.Name, len(ceilings[i])-1)
			}
		}
		return nil
	}))
	must(r.Last(ctx, 2*r.options.Window)) // beyond what was granted before
	r.Step("%s is killed and started again", h.Name)
	seen.killed = evidence.Now()
	must(h.Kill(ctx))
	must(h.Start(ctx))
	must(h.AwaitLog(ctx, "there is no room on the disk")) // for the record of another worker ID
	must(r.FreeDirectory(ctx))
	r.Step("there is room again")
	mustGet(h.AwaitAnswer(ctx))
	must(all(ctx, r.Hosts, 1000))
}

func judgeDirectoryFull(res *Result) {
	seen := fillings.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	noneFailed(res, 0, res.Drill.Began, seen.killed)
}

// copying is a daemon on a copy of the directory.
type copying struct{ started, ended evidence.Mono }

var copyings notes[copying]

func directoryCopied(ctx context.Context, r *Run) {
	seen, h := copyings.of(r), r.Hosts[2]
	must(all(ctx, r.Hosts, 1000))
	r.Step("%s is killed, and started on a copy of the directory", h.Name)
	must(h.Kill(ctx))
	at := filepath.Join(r.Dir, "coordinator")
	must(copyBelow(filepath.Join(at, "coord"), filepath.Join(at, "copy")))
	must(h.Start(ctx, "--coord=dir:/coordinator/copy"))
	seen.started = evidence.Now()
	must(h.AwaitLog(ctx, "run `flakeward cluster adopt`"))
	must(h.AwaitNone(ctx, 300*time.Millisecond))
	r.Step("it is refused, and started on the directory itself")
	seen.ended = evidence.Now()
	must(h.Kill(ctx))
	must(h.Start(ctx))
	must(all(ctx, r.Hosts, 1000))
}

func judgeDirectoryCopied(res *Result) {
	seen := copyings.of(res.Run)
	for _, h := range res.Run.Others(res.Run.Hosts[2]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	if n := res.Host(2).IDs(seen.started, seen.ended); n > 0 {
		res.Fail("%d IDs were issued on a copy", n)
	}
}
