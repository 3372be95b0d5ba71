//go:build e2e

package drills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/e2e/compose"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/fault/inject"
)

// withDefaults are the options with what was left out.
func (o Options) withDefaults() Options {
	o.Limit = cmp.Or(o.Limit, 2*time.Minute)
	o.Hosts = cmp.Or(o.Hosts, 3)
	o.Ready = cmp.Or(o.Ready, o.Hosts)
	o.Layout = cmp.Or(o.Layout, "flakeward")
	o.TTL = cmp.Or(o.TTL, 2*time.Second)
	o.Window = cmp.Or(o.Window, 20*time.Second)
	o.Publish = cmp.Or(o.Publish, 500*time.Millisecond)
	o.MaxBlock = cmp.Or(o.MaxBlock, 2*time.Second)
	o.Least = cmp.Or(o.Least, 100)
	o.Lead = cmp.Or(o.Lead, apart+clockguard.MaxForward+100*time.Millisecond)
	return o
}

// environment is what all daemons of a drill are told.
func (o Options) environment() map[string]string {
	return mergedEnv(map[string]string{
		"FLAKEWARD_LAYOUT":    o.Layout,
		"FLAKEWARD_TTL":       o.TTL.String(),
		"FLAKEWARD_WINDOW":    o.Window.String(),
		"FLAKEWARD_PUBLISH":   o.Publish.String(),
		"FLAKEWARD_MAX_BLOCK": o.MaxBlock.String(),
	}, o.Env)
}

func mergedEnv(all ...map[string]string) map[string]string {
	merged := map[string]string{}
	for _, m := range all {
		maps.Copy(merged, m)
	}
	return merged
}

// newRun makes a drill's folder, with all that its containers need in it.
func (s *suite) newRun(d Drill, log func(string, ...any)) (*Run, error) {
	o := d.Options.withDefaults()
	layout, err := generator.ParseLayout(o.Layout)
	if err != nil {
		return nil, err
	}
	r := &Run{
		Name: d.Name, Coordinator: s.coordinator, Dir: filepath.Join(s.dir, d.Name), Members: s.members, Layout: layout, Long: s.long, Seed: s.seed,
		options: o, gate: s.gate, log: log, begun: evidence.Now(),
	}
	if err := os.MkdirAll(filepath.Join(r.Dir, "logs"), 0o755); err != nil {
		return nil, err
	}
	if r.file, err = os.Create(filepath.Join(r.Dir, "steps.txt")); err != nil {
		return nil, err
	}
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(o.environment())) {
		fmt.Fprintf(&lines, "%s=%s\n", name, o.environment()[name])
	}
	if err := os.WriteFile(filepath.Join(r.Dir, "daemon.env"), []byte(lines.String()), 0o644); err != nil {
		return nil, err
	}
	r.project = &compose.Project{
		Engine: s.engine, Name: s.prefix + s.coordinator + "-" + strings.ReplaceAll(d.Name, ".", "_"),
		Files: []string{filepath.Join(r.Dir, "hosts.json")},
	}
	r.project.Env = map[string]string{
		"DRILL_USER":   s.user,
		"DRILL_DIR":    r.Dir,
		"DRILL_COORD":  s.members.backend.url(r.tree()),
		"DRILL_IMAGE":  s.image,
		"DRILL_FLAGS":  strings.Join(o.Daemon, " "),
		"DRILL_CLIENT": strings.Join(o.Client, " "),
	}
	if s.coordinator == onDirectory {
		at := filepath.Join(r.Dir, "coordinator", "coord")
		if err := errors.Join(s.own(filepath.Dir(at), 0o700), s.own(at, 0o700), s.own(filepath.Join(r.Dir, "records"), 0o700), inject.MakeOldCluster(context.Background(), "dir:"+at, o.Layout, o.Window)); err != nil {
			return nil, err
		}
	}
	for i := range o.Hosts {
		if err := s.newHost(r, i); err != nil {
			return nil, err
		}
	}
	return r, s.describe(r)
}

func (s *suite) newHost(r *Run, i int) error {
	number := strconv.Itoa(i + 1)
	h := &Host{
		Name: "host-" + number, Index: i, r: r,
		daemon: r.project.Name + "-daemon-" + number, client: r.project.Name + "-client-" + number,
		ends: map[string]func(){}, present: true,
	}
	h.dir = filepath.Join(r.Dir, h.Name)
	h.socketDir = filepath.Join(h.dir, "socket")
	if r.options.Shared && i > 0 {
		h.socketDir = r.Hosts[0].socketDir
	}
	h.cut = &cut{engine: s.engine, container: h.daemon, note: func(kind string) func() { return r.fault(kind, h.Name) }}
	r.Hosts = append(r.Hosts, h)
	if err := os.MkdirAll(h.dir, 0o755); err != nil {
		return err
	}
	for _, dir := range []struct {
		path string
		mode os.FileMode
	}{
		{h.socketDir, 0o755},
		{filepath.Join(h.dir, "clock"), 0o755}, {filepath.Join(h.dir, "daemon"), 0o755}, {filepath.Join(h.dir, "client"), 0o755},
	} {
		if err := s.own(dir.path, dir.mode); err != nil {
			return fmt.Errorf("the folder of %s: %w", h.Name, err)
		}
	}
	return nil
}

// operate runs a command of the drill's program, as an operator does.
func (r *Run) operate(ctx context.Context, args ...string) error {
	_, err := r.project.Engine.Docker(ctx, append([]string{
		"run", "--rm", "--network", r.Members.project.Name + "_default", "--env-file", filepath.Join(r.Dir, "daemon.env"), "--env", "FLAKEWARD_COORD=" + r.project.Env["DRILL_COORD"],
		r.project.Env["DRILL_IMAGE"],
	}, args...)...)
	return err
}

// longGrant is the least that the second grant of a process reaches ahead.
const longGrant = 10 * time.Second

// granted is how far ahead the daemon of a host may issue; 0: that is not known.
func (h *Host) granted(ctx context.Context) time.Duration {
	info, err := h.Info(ctx)
	ahead, bad := strconv.Atoi(info["marks_ahead_ms"])
	if err != nil || bad != nil {
		return 0
	}
	return time.Duration(ahead) * time.Millisecond
}

// grown reports whether the daemon of a host has more than the short first grant of a process: half of
// a later one, or of the window, is left.
func (h *Host) grown(ctx context.Context) bool {
	return h.granted(ctx) >= min(cmp.Or(h.r.options.Window, longGrant), longGrant)/2
}

// up starts all daemons and clients and waits until as many hosts serve as the drill wants, each with
// a grant on which it can live through a fault.
func (r *Run) up(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, serveTimeout)
	defer cancel()
	var services []string
	for _, h := range r.Hosts {
		number := strconv.Itoa(h.Index + 1)
		services = append(services, "daemon-"+number, "client-"+number)
		h.watch = startWatch(filepath.Join(h.dir, "client"))
	}
	if r.Coordinator != onDirectory {
		if err := r.operate(ctx, "old-cluster", r.options.Layout, r.options.Window.String()); err != nil {
			return err
		}
	}
	if err := r.project.Up(ctx, services...); err != nil {
		return err
	}
	return until(ctx, fmt.Sprintf("%d of %d hosts to serve", r.options.Ready, len(r.Hosts)), watchEvery, func() (bool, error) {
		serving := 0
		for _, h := range r.Hosts {
			_, received, _, err := h.watch.seen()
			if err != nil {
				return false, err
			}
			if received > 0 && h.grown(ctx) {
				serving++
			}
		}
		return serving >= r.options.Ready, nil
	})
}
