package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/faultproxy"
)

// servesWithin is how soon a copy has to serve, from the start of its process.
const servesWithin = 2 * time.Second

// longSession is the TTL of a daemon whose session does not end by anything that is done to it.
const longSession = 30 * time.Second

// bound is the limit that a daemon is held to. In the short form, in which much else runs, it is
// one that only a daemon breaks which waits for the end of such a session, or of a grant.
func bound(limit time.Duration) time.Duration {
	if *long {
		return limit
	}
	return longSession * 2 / 3
}

// original is a daemon that is copied while it runs. Its state directory is on a disk of its own,
// which can be cloned as a volume is, and which nothing else sees.
type original struct {
	*node
	image string // the disk
	proxy *faultproxy.Proxy
	awake bool // it is not paused
}

// original starts one, in a network of its own.
func (w *testCluster) original() *original {
	w.Helper()
	c := w.config("original")
	c.Cluster.TTL = longSession
	o := &original{image: filepath.Join(w.dir, "original.img"), awake: true}
	w.run("truncate", "--size=16M", o.image)
	w.run("mkfs.ext4", "-q", o.image)
	disk := c.StateDir
	if err := os.Mkdir(disk, 0o700); err != nil {
		w.Fatal(err)
	}
	c.StateDir = filepath.Join(disk, "state")
	m, proxy := w.apart(w.machine("original"))
	o.proxy = proxy
	o.node = w.spawnOn(c, m.namespaced(w, nil, `mount -o loop "$IMAGE" "$DISK"`, "IMAGE="+o.image, "DISK="+disk))
	o.must(1000)
	return o
}

// seen is where a path of the original's can be seen from outside of its namespace.
func (o *original) seen(path string) string {
	return fmt.Sprintf("/proc/%d/root%s", o.process.PID(), path)
}

// disk is where the original's disk is mounted.
func (o *original) disk() string { return filepath.Dir(o.config.StateDir) }

// beside has a machine see the original's disk.
func (o *original) beside(m machine) machine {
	m.within = append(append([]string{}, m.within...), "nsenter", fmt.Sprintf("--mount=/proc/%d/ns/mnt", o.process.PID()))
	return m
}

// copied is a kind of copy. It returns the machine for it, and may change its configuration.
type copied struct {
	name string
	take func(o *original, c *daemon.Config, round int) machine
}

// copyState is part of a script: the copy, at $TO.
const copyState = `mkdir -p "$TO"; cp -a "$FROM/." "$TO"`

var copies = []copied{
	{"same tree", func(o *original, c *daemon.Config, round int) machine {
		c.StateDir = filepath.Join(o.disk(), fmt.Sprintf("copy-%d", round))
		o.w.run("cp", "-a", o.seen(o.config.StateDir), o.seen(c.StateDir))
		return o.beside(o.w.machine("original"))
	}},
	{"another volume", func(o *original, c *daemon.Config, _ int) machine {
		return o.w.machine("original").namespaced(o.w, nil, `mkdir "$TO"; mount -t tmpfs -o mode=0700 tmpfs "$TO"; `+copyState,
			"FROM="+o.seen(o.config.StateDir), "TO="+c.StateDir)
	}},
	{"another container", func(o *original, c *daemon.Config, round int) machine {
		// At the path that it had, and with the identity that all containers of a host are given.
		c.StateDir = o.config.StateDir
		m, _ := o.w.apart(o.w.machine("original"))
		return o.beside(m).namespaced(o.w, []string{"--uts", "--ipc", "--pid", "--fork", "--kill-child"},
			copyState+`; mount --bind "$TO" "$FROM"; mount -t proc proc /proc; hostname container`,
			"FROM="+c.StateDir, "TO="+filepath.Join(o.disk(), fmt.Sprintf("container-%d", round)))
	}},
	{"another host", func(o *original, c *daemon.Config, round int) machine {
		m, _ := o.w.apart(o.w.machine(fmt.Sprintf("other-%d", round)))
		return m.namespaced(o.w, []string{"--uts"}, copyState+`; `+bootID+`; hostname other`,
			"FROM="+o.seen(o.config.StateDir), "TO="+c.StateDir, o.w.otherBoot())
	}},
	{"a clone after a reboot", func(o *original, c *daemon.Config, round int) machine {
		// Path, inodes and their generations are the original's. The host has booted, and knows
		// another identity, or none.
		clone := filepath.Join(o.w.dir, fmt.Sprintf("clone-%d.img", round))
		if o.awake {
			o.w.run("fsfreeze", "--freeze", o.seen(o.disk()))
			defer o.w.run("fsfreeze", "--unfreeze", o.seen(o.disk()))
		}
		o.w.run("cp", o.image, clone)
		c.StateDir = o.config.StateDir
		identity := ""
		if round%2 == 0 {
			identity = fmt.Sprintf("clone-%d", round)
		}
		m, _ := o.w.apart(o.w.machine(identity))
		return m.namespaced(o.w, []string{"--uts"}, `mount -o loop "$IMAGE" "$DISK"; rm "$IMAGE"; `+bootID,
			"IMAGE="+clone, "DISK="+o.disk(), o.w.otherBoot())
	}},
}

// befallen is what the original does while it is copied.
type befallen struct {
	name       string
	begin, end func(o *original) error
}

var (
	connected = befallen{"connected", func(*original) error { return nil }, func(*original) error { return nil }}
	cutOff    = befallen{"cut off",
		func(o *original) error { o.proxy.Hang(); return nil },
		func(o *original) error { o.proxy.Open(); return nil }}
	paused = befallen{"paused",
		func(o *original) error { o.awake = false; return o.process.Pause() },
		func(o *original) error { o.awake = true; return o.process.Resume() }}
)

// TestCopyBesideTheOriginal copies the state of a daemon that runs, in each way, and starts a
// second daemon on the copy. The second one serves from another worker ID; the first keeps its
// claim.
func TestCopyBesideTheOriginal(t *testing.T) {
	for _, state := range []befallen{connected, cutOff, paused} {
		t.Run(state.name, func(t *testing.T) {
			on(t, 1, func(w *testCluster) {
				o := w.original()
				rounds := 1
				if *long {
					rounds = 20
				}
				for _, kind := range copies {
					c := &copying{original: o, kind: kind, state: state}
					for round := range rounds {
						c.once(round)
					}
					c.report()
				}
			})
		})
	}
}

// copying is what came of copies of one kind.
type copying struct {
	*original
	kind  copied
	state befallen

	took       []time.Duration
	ids        int
	claimsLost int
}

func (c *copying) once(round int) {
	w := c.w
	w.Helper()
	must := func(err error) {
		w.Helper()
		if err != nil {
			w.Fatal(err)
		}
	}
	had := c.info()
	worker := c.holds()
	must(c.state.begin(c.original))
	// The copy's host is called as the original's is, so it wants the worker ID that this had.
	config := w.config("original")
	machine := c.kind.take(c.original, &config, round)
	copied := w.spawnOn(config, machine)
	copied.must(1)
	took := time.Since(copied.begun)
	c.took = append(c.took, took)
	if limit := bound(servesWithin); took > limit {
		w.Errorf("%s, %s: the copy served after %v, more than %v", c.kind.name, c.state.name, took, limit)
	}
	if got := copied.holds(); got == worker {
		w.Errorf("%s, %s: the copy serves from worker ID %d, which is the original's", c.kind.name, c.state.name, got)
	}
	if c.awake {
		c.ids += both(c.node, copied)
	} else {
		c.ids += both(copied)
	}
	if m := w.holder(worker); m == nil || m.Claim != had["claim"] || m.Opening != had["opening"] {
		c.claimsLost++
		w.Errorf("%s, %s: worker ID %d was held by the claim %s with opening %s, and is by %+v", c.kind.name, c.state.name, worker,
			had["claim"], had["opening"], m)
	}
	must(c.state.end(c.original))
	c.ids += both(c.node, copied)
	was := c.granted()
	w.soon("another grant of the original", func() bool { return c.granted() > was })
	if now := c.info(); now["opening"] != had["opening"] || now["worker_id"] != had["worker_id"] {
		w.Errorf("%s, %s: the original had worker ID %s by opening %s, and has %s by %s", c.kind.name, c.state.name,
			had["worker_id"], had["opening"], now["worker_id"], now["opening"])
	}
	text := copied.tail()
	_, said, is := strings.Cut(text, "the journal was not written here")
	_, reason, _ := strings.Cut(said, `"reason":"`)
	if reason, _, _ = strings.Cut(reason, `"`); round < 2 {
		w.Logf("%s: %s", c.kind.name, reason)
	}
	if !is || reason == "" {
		w.Errorf("%s, %s: the copy does not say that it is one:\n%s", c.kind.name, c.state.name, text)
	}
	copied.kill()
}

// errorIfLong is Errorf in the long form, in which nothing else runs; a noisy machine breaks any
// limit.
func (w *testCluster) errorIfLong(format string, args ...any) {
	w.Helper()
	if *long {
		w.Errorf(format, args...)
	} else {
		w.Logf(format, args...)
	}
}

func (c *copying) report() {
	c.w.Helper()
	slices.Sort(c.took)
	c.w.figure("| %s | %s | %s | %d | %d | %d | %v | %v |", c.w.backend, c.kind.name, c.state.name, len(c.took), c.ids, c.claimsLost,
		c.took[len(c.took)/2].Round(time.Millisecond), c.took[len(c.took)-1].Round(time.Millisecond))
}

// both asks daemons for IDs at the same instants for a while, and returns how many they gave.
func both(nodes ...*node) (ids int) {
	const times, each = 20, 500
	w := nodes[0].w
	w.Helper()
	for range times {
		gave := make(chan error)
		for _, n := range nodes {
			go func() {
				_, err := n.take(each)
				gave <- err
			}()
		}
		for range nodes {
			if err := <-gave; err != nil {
				w.Errorf("a daemon gave no IDs: %v", err)
				continue
			}
			ids += each
		}
	}
	return ids
}

// TestCopyWithDefaults is the copy by which this was found: the state directory of a daemon with
// default settings, cp -a, and a second daemon on the copy. Both issue as much as they can for a
// while.
func TestCopyWithDefaults(t *testing.T) {
	on(t, 1, func(w *testCluster) {
		c := w.calm("original")
		first := w.spawnOn(c, w.machine(""))
		first.must(1000)
		d := w.calm("original")
		w.run("cp", "-a", c.StateDir, d.StateDir)
		second := w.spawnOn(d, w.machine(""))
		ids := 0
		for range 18 {
			ids += both(first, second)
		}
		w.figure("cp -a, defaults: %d IDs of two daemons, worker IDs %d and %d", ids, first.holds(), second.holds())
	})
}
