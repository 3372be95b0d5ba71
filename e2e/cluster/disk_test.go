package cluster

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/e2e/sidecar/files"
)

// TestJournalNeedsNothingMore fills the disk of a daemon under load, and takes away the descriptors
// that it has not in use yet. Its journal is written all the same: no request is refused.
func TestJournalNeedsNothingMore(t *testing.T) {
	for name, mount := range map[string]string{
		"tmpfs": `mount -t tmpfs -o size=1M,mode=0700 tmpfs "$DISK"`,
		"ext4":  `truncate --size=4M "$IMAGE"; mkfs.ext4 -q -m 0 "$IMAGE"; mount -o loop "$IMAGE" "$DISK"`,
	} {
		t.Run(name, func(t *testing.T) {
			on(t, 1, func(w *testCluster) {
				rate, steps := 5000, 4
				c := w.config("full")
				c.Grant.Step = 200 * time.Millisecond
				if *long {
					rate, steps = 50_000, 20
					c.Grant.Step = time.Second
				}
				disk := c.StateDir
				if err := os.Mkdir(disk, 0o700); err != nil {
					w.Fatal(err)
				}
				c.StateDir = filepath.Join(disk, "state")
				m := w.machine("").namespaced(w, nil, mount, "DISK="+disk, "IMAGE="+filepath.Join(w.dir, "full.img"))
				d := &disked{node: w.spawnOn(c, m), rate: rate, steps: steps}
				d.load = d.stream(rate)
				d.load.await(rate)
				before := d.during("with room and descriptors")

				filled := fmt.Sprintf("/proc/%d/root%s", d.process.PID(), disk)
				if _, err := files.Fill(filled); err != nil {
					w.Fatal(err)
				}
				full := d.during("disk full")
				if err := os.WriteFile(filepath.Join(filled, "more"), make([]byte, 4096), 0o600); !errors.Is(err, unix.ENOSPC) {
					w.Errorf("the drill is void: the disk was not full: %v", err)
				}

				limit := d.withoutDescriptors()
				none := d.during("disk full, no descriptor left")
				if free := d.freeDescriptor(); free < limit {
					w.Errorf("the drill is void: descriptor %d of %d was not in use", free, limit)
				}
				ids := d.load.finish()
				for what, gap := range map[string]time.Duration{"disk full": full, "no descriptor left": none} {
					// Twice what there is without, and what a busy machine does to any.
					if longest := 2*before + 100*time.Millisecond; gap > longest {
						w.errorIfLong("%s: a wait of %v for an answer, and of %v before", what, gap, before)
					}
				}
				w.figure("| %s | %s | %d/s | %d | %d | %v | %v | %v |", w.backend, name, rate, ids, 3*steps, before.Round(100*time.Microsecond),
					full.Round(100*time.Microsecond), none.Round(100*time.Microsecond))
			})
		})
	}
}

// disked is a daemon with a small disk, under load.
type disked struct {
	*node
	load        *stream
	rate, steps int
}

// during has the load go on while the journal's mark is moved on as often as it says, and returns
// the longest wait for an answer.
func (d *disked) during(what string) (gap time.Duration) {
	w := d.w
	w.Helper()
	d.load.Longest()
	mark, moved := d.number("journal_mark"), 0
	begun := time.Now()
	w.soon("the journal's mark, "+what, func() bool {
		if now := d.number("journal_mark"); now > mark {
			mark = now
			moved++
		}
		return moved >= d.steps
	})
	// As many as were due, except for what is on its way.
	due := int(time.Since(begun).Seconds() * float64(d.rate) / 2)
	d.load.await(due / 2)
	if info := d.info(); info["state"] != "ready" || info["condition"] != "" {
		w.Errorf("%s: INFO says %q, %q", what, info["state"], info["condition"])
	}
	return d.load.Longest()
}

// freeDescriptor is the lowest number of a descriptor that the daemon has not in use.
func (d *disked) freeDescriptor() int {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.process.PID()))
	if err != nil {
		d.w.Fatal(err)
	}
	var used []int
	for _, e := range entries {
		n, err := strconv.Atoi(e.Name())
		if err != nil {
			d.w.Fatal(err)
		}
		used = append(used, n)
	}
	slices.Sort(used)
	for i, n := range used {
		if i != n {
			return i
		}
	}
	return len(used)
}

// withoutDescriptors lowers the daemon's limit to what it has in use, and returns it.
func (d *disked) withoutDescriptors() int {
	limit := d.freeDescriptor()
	if err := unix.Prlimit(d.process.PID(), unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: uint64(limit), Max: uint64(limit)}, nil); err != nil {
		d.w.Fatal(err)
	}
	return limit
}
