//go:build e2e

package drills

import (
	"cmp"
	"context"
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
	o.Window = cmp.Or(o.Window, 20*time.Second)
	o.MaxBlock = cmp.Or(o.MaxBlock, 2*time.Second)
	o.Least = cmp.Or(o.Least, 100)
	o.Lead = cmp.Or(o.Lead, apart+clockguard.MaxForward+100*time.Millisecond)
	return o
}

// environment is what all daemons of a drill are told, a line each.
func (o Options) environment() string {
	all := map[string]string{
		"FLAKEWARD_LAYOUT": o.Layout, "FLAKEWARD_TTL": ttl.String(), "FLAKEWARD_WINDOW": o.Window.String(),
		"FLAKEWARD_PUBLISH": publish.String(), "FLAKEWARD_MAX_BLOCK": o.MaxBlock.String(),
	}
	maps.Copy(all, o.Env)
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&lines, "%s=%s\n", name, all[name])
	}
	return lines.String()
}

// newRun makes a drill's folder, with all that its containers need in it. e2e/compose.hosts.yaml
// has the containers.
func (s *suite) newRun(d Drill, log func(string, ...any)) (r *Run, err error) {
	o := d.Options.withDefaults()
	r = &Run{
		Name: d.Name, Coordinator: s.coordinator, Dir: filepath.Join(s.dir, d.Name), Members: s.members, Long: s.long, Seed: s.seed,
		options: o, gate: s.gate, log: log, begun: evidence.Now(),
		project: &compose.Project{
			Engine: s.engine, Name: s.prefix + s.coordinator + "-" + strings.ReplaceAll(d.Name, ".", "_"), Files: []string{s.file("e2e", "compose.hosts.yaml")},
		},
	}
	r.project.Env = map[string]string{
		"DRILL_PROJECT": r.project.Name, "DRILL_USER": s.user, "DRILL_DIR": r.Dir, "DRILL_COORD": s.members.url(r.tree()),
		"DRILL_IMAGE": s.image, "DRILL_FLAGS": o.Flags, "DRILL_CLIENT": o.Client,
		"DRILL_NETWORK": s.members.project.Name + "_default", "DRILL_EXTERNAL": "true",
	}
	return r, caught(func() {
		r.Layout = mustGet(generator.ParseLayout(o.Layout))
		must(os.MkdirAll(filepath.Join(r.Dir, "logs"), 0o755))
		r.file = mustGet(os.Create(filepath.Join(r.Dir, "steps.txt")))
		must(os.WriteFile(filepath.Join(r.Dir, "daemon.env"), []byte(o.environment()), 0o644))
		if s.coordinator == onDirectory {
			s.newDirectory(r)
		}
		for i := range o.Hosts {
			s.newHost(r, i)
		}
	})
}

// newDirectory makes what the daemons of a drill have in common on a directory: it, and what they
// note of it.
func (s *suite) newDirectory(r *Run) {
	at := filepath.Join(r.Dir, "coordinator")
	s.own(at, 0o700)
	s.own(filepath.Join(at, "coord"), 0o700)
	s.own(filepath.Join(r.Dir, "records"), 0o700)
	must(inject.MakeOldCluster(context.Background(), "dir:"+filepath.Join(at, "coord"), r.options.Layout, r.options.Window))
	if r.options.Small {
		at = "small" // a volume
	}
	r.project.Files = append(r.project.Files, s.file("e2e", "compose.directory.yaml"))
	maps.Copy(r.project.Env, map[string]string{
		"DRILL_COORDINATOR": at, "DRILL_UID": strings.Split(s.user, ":")[0], "DRILL_NETWORK": r.project.Name + "_default", "DRILL_EXTERNAL": "false",
	})
}

func (s *suite) newHost(r *Run, i int) {
	number := strconv.Itoa(i + 1)
	h := &Host{
		box:   box{Name: "host-" + number, engine: s.engine, container: r.project.Name + "-daemon-" + number, fault: r.Fault},
		Index: i, r: r, client: r.project.Name + "-client-" + number, dir: filepath.Join(r.Dir, "host-"+number),
	}
	h.socketDir = filepath.Join(h.dir, "socket")
	if r.options.Shared && i > 0 {
		h.socketDir = r.Hosts[0].socketDir
	}
	r.Hosts = append(r.Hosts, h)
	r.project.Env["DRILL_SOCKET_"+number] = h.socketDir
	must(os.MkdirAll(h.dir, 0o755))
	s.own(h.socketDir, 0o755)
	for _, name := range []string{"clock", "daemon", "client"} {
		s.own(filepath.Join(h.dir, name), 0o755)
	}
}

// up starts all daemons and clients and waits until as many hosts serve as the drill wants, each
// with a grant on which it can live through a fault.
func (r *Run) up(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, serveTimeout)
	defer cancel()
	var services []string
	for _, h := range r.Hosts {
		number := strconv.Itoa(h.Index + 1)
		services = append(services, "daemon-"+number, "client-"+number)
		h.watch = startWatch(filepath.Join(h.dir, "client"))
	}
	if r.Coordinator != onDirectory {
		must(inject.MakeOldCluster(ctx, r.Members.outside(ctx, r.tree()), r.options.Layout, r.options.Window))
	}
	must(r.project.Up(ctx, services...))
	until(ctx, func() {
		serving, last := 0, error(nil)
		for _, h := range r.Hosts {
			err := caught(func() { h.grown(ctx) })
			if h.Received() > 0 && err == nil {
				serving++
			}
			last = cmp.Or(err, last)
		}
		if serving < r.options.Ready {
			fail("%d do: %w", serving, last)
		}
	}, "%d of %d hosts to serve", r.options.Ready, len(r.Hosts))
}
