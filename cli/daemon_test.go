package cli

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// runDaemon runs the daemon by its command, with more arguments, and waits until it can issue.
func runDaemon(t *testing.T, args ...string) *daemontest.Daemon {
	t.Helper()
	d := daemontest.Launch(t, daemon.Config{}, func(ctx context.Context, c daemon.Config) error {
		var out strings.Builder
		return Run(ctx, append([]string{"flakeward", "daemon"}, args...), strings.NewReader(""), &out, &out, func(ctx context.Context, config daemon.Config) error {
			config.Ready = c.Ready
			return daemon.Run(ctx, config)
		})
	})
	d.UntilReady()
	return d
}

// TestCommandsAgainstARealDaemon starts the daemon by its command, asks it by
// the others, and ends it as a signal would.
func TestCommandsAgainstARealDaemon(t *testing.T) {
	dir := sockettest.Dir(t)
	t.Setenv("FLAKEWARD_SOCKET", filepath.Join(dir, "s"))

	d := runDaemon(t, "--coord", "dir:"+filepath.Join(dir, "coord"), "--layout", "twitter", "--datacenter", "9", "--max-count", "300", "--max-block", "1m")

	ids, _, err := command(t, "", "next", "2500") // more than --max-count, in batches that are more, too
	must.Do(t, err)
	different := make(map[string]bool)
	for id := range strings.FieldsSeq(ids) {
		different[id] = true
	}
	if len(different) != 2500 {
		t.Errorf("2500 IDs were asked for, %d different ones came", len(different))
	}

	decoded, complaints, err := command(t, ids, "decode", "--json", "-")
	if n := strings.Count(decoded, `"datacenter":9,`); n != 2500 || err != nil || complaints != "" {
		t.Errorf("%d of 2500 IDs decode to datacenter 9, by the daemon's layout: %v, %q", n, err, complaints)
	}

	runs, _, err := command(t, "", "next", "100", "--run")
	if words := strings.Fields(runs); err != nil || len(words) < 3 || words[2] != "1" {
		t.Errorf("the runs of 100 IDs are %q, %v", runs, err)
	}

	status, _, err := command(t, "", "status")
	if err != nil || !strings.Contains(status, Version()) {
		t.Errorf("the status is %v\n%s", err, status)
	}

	d.Stop()
	if _, _, err := command(t, "", "status"); ExitCode(err) != ExitNoDaemon {
		t.Errorf("after the end, the status is %v", err)
	}
}

// A rate lets the IDs of one command take longer than an answer may.
func TestNextIsSlowedByARate(t *testing.T) {
	dir := sockettest.Dir(t)
	t.Setenv("FLAKEWARD_SOCKET", filepath.Join(dir, "s"))
	runDaemon(t, "--coord", "dir:"+filepath.Join(dir, "coord"), "--rate", "50/s")
	out, _, err := command(t, "", "next", "--timeout", "1s", "150") // 50 at once, and 100 within 2 s
	if n := strings.Count(out, "\n"); n != 150 || err != nil {
		t.Errorf("%d of 150 IDs came: %v", n, err)
	}
}

// TestOperatorsOfADirectory asks the directory of a daemon, while that runs and after it has ended.
func TestOperatorsOfADirectory(t *testing.T) {
	dir := sockettest.Dir(t)
	t.Setenv("FLAKEWARD_SOCKET", filepath.Join(dir, "s"))
	t.Setenv("FLAKEWARD_COORD", "dir:"+filepath.Join(dir, "coord"))

	_, _, err := command(t, "", "status", "--cluster")
	checkError(t, err, coord.ErrNoCluster.Error()+": check that the directory", ExitFailed)
	if strings.Contains(err.Error(), "URL") || strings.Contains(err.Error(), "prefix") {
		t.Errorf("it has no URL that was given: %v", err)
	}

	d := runDaemon(t, "--host", "this-one")
	ids, _, err := command(t, "", "next", "100")
	must.Do(t, err)
	explained := func() {
		t.Helper()
		out, complaints, err := command(t, ids, "explain", "--json", "-")
		if n := strings.Count(out, `"verdict":"held","host":"this-one"`); n != 100 || err != nil || complaints != "" {
			t.Errorf("%d of 100 IDs are explained: %v, %q\n%s", n, err, complaints, out)
		}
	}

	if found := look(t, "status", "--cluster"); len(found.Members) != 1 || found.Members[0].Host != "this-one" || found.Members[0].State != "granted" || found.Members[0].Since == nil {
		t.Errorf("while it runs, the members are %+v", found.Members)
	}
	explained()

	d.Stop()
	if found := look(t, "status", "--cluster"); len(found.Members) != 0 {
		t.Errorf("after its end, the members are %+v", found.Members)
	}
	if found := look(t, "cluster", "marks"); len(found.Marks) != 1 || found.Marks[0].Ceiling == 0 {
		t.Errorf("after its end, the marks are %+v", found.Marks)
	}
	explained()
}
