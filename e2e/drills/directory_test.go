//go:build e2e

package drills

import (
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// paused pauses a daemon for longer than its session may last: a directory knows that it lives, so
// nobody gets its worker ID, and it issues on when it is resumed.
func paused(ctx context.Context, r *Run) func(*Result) {
	sleeper, other, without := cast(ctx, r)
	all(ctx, 1000, sleeper, other)
	worker := sleeper.holds(ctx).worker
	r.Step("pausing %s, which holds worker ID %d", sleeper, worker)
	from := evidence.Now()
	sleeper.Pause(ctx)
	last(ctx, 3*ttl)
	sleeper.Resume(ctx)
	all(ctx, 1000, sleeper, other)
	return func(res *Result) {
		res.neverFailed(other)
		res.noneFailed(res.Began, from, sleeper)
		res.from(worker, sleeper, res.Began, res.Ended)
		if n := without.Replies.IDs(res.Began, res.Ended); n > 0 {
			res.Fail("%s issued %d IDs, and no worker ID was free", without, n)
		}
	}
}

// fullGrants is how often each daemon has to be granted more on a disk that is full.
const fullGrants = 4

// directoryFull fills the disk of the directory under load: each daemon is granted more all the
// same; one that is killed says why it does not serve, and does when there is room again.
func directoryFull(ctx context.Context, r *Run) func(*Result) {
	h := r.Hosts[0]
	var cluster struct {
		Floor generator.Tick `json:"raised_tick"`
	}
	must(json.Unmarshal([]byte(h.operate(ctx, "status", "--cluster", "--json")), &cluster))
	r.made = cluster.Floor // one of the daemons made it
	all(ctx, 1000, r.Hosts...)
	r.Step("the disk of the directory is filled")
	r.Fault("", "disk full")
	filler := func(do string) { mustGet(h.engine.Docker(ctx, "exec", h.client, "/sidecar", do, "/coordinator")) }
	filler("fill")
	each(r.Hosts, func(h *Host) {
		ceilings := map[string]bool{}
		until(ctx, func() {
			if ceilings[h.Info(ctx)["ceiling"]] = true; len(ceilings) <= fullGrants {
				fail("%s was granted more %d times", h, len(ceilings)-1)
			}
		}, "grants that move on")
	})
	last(ctx, 2*r.options.Window) // beyond what was granted before
	killed, _ := killAndStart(ctx, h)
	h.logs(ctx, "", "there is no room on the disk") // for the record of another worker ID
	filler("free")
	r.Step("there is room again")
	h.AwaitAnswer(ctx)
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) {
		res.neverFailed(r.Others(h)...)
		res.noneFailed(res.Began, killed, h)
	}
}

// directoryCopied starts a daemon on a copy of the directory that others use: it is refused and
// says what to do, and they are not disturbed.
func directoryCopied(ctx context.Context, r *Run) func(*Result) {
	all(ctx, 1000, r.Hosts...)
	r.Step("the directory is copied, and a daemon started on the copy")
	r.Fault("", "directory copied")
	copied, name := filepath.Join(r.Dir, "copied"), r.project.Name+"-copied"
	must(exec.CommandContext(ctx, "cp", "-a", filepath.Join(r.Dir, "coordinator"), copied).Run())
	docker := func(args ...string) error {
		_, err := r.project.Engine.Docker(ctx, args...)
		return err
	}
	must(docker("run", "--detach", "--name", name, "--hostname", "host-3", "--label", "com.docker.compose.project="+r.project.Name, "--user", r.project.Env["DRILL_USER"],
		"--volume", copied+":/coordinator", "--env-file", filepath.Join(r.Dir, "daemon.env"), r.project.Env["DRILL_IMAGE"],
		"daemon", "--coord=dir:/coordinator/coord", "--socket=/coordinator/socket"))
	until(ctx, func() { says(name, mustGet(r.project.Engine.Logs(ctx, name)), "run `flakeward cluster adopt`") }, "the log of the daemon on the copy")
	if docker("exec", name, "/flakeward", "next", "--socket=/coordinator/socket") == nil {
		fail("an ID was issued on a copy")
	}
	all(ctx, 1000, r.Hosts...)
	return func(res *Result) { res.neverFailed(r.Hosts...) }
}
