package daemon

import (
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/must"
)

// booted is a kernel that knows the name of its boot.
type booted struct {
	clockguard.Kernel
	boot string
}

func (b booted) Boot() int64    { return 0 }
func (b booted) BootID() string { return b.boot }

// Whoever gets the lock knows the process before as dead, if it was of the same boot of the
// machine.
func TestTheLockNamesTheDead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	start := func(incarnation, boot string) *Daemon {
		d := &Daemon{clock: clockguard.NewKnown(&clocktest.Stepped{}, booted{boot: boot}, clockguard.DefaultBelief())}
		d.incarnation.Store(&incarnation)
		d.lock = must.Get(socketfile.TakeLock(path, 0, d.note()))(t)
		t.Cleanup(d.lock.Free)
		return d
	}
	for i, tt := range []struct{ boot, dead string }{{"a", ""}, {"a", "i0"}, {"b", "i1 of boot a"}, {"", ""}, {"b", "i3 of boot "}, {"b", "i4"}} {
		d := start([]string{"i0", "i1", "i2", "i3", "i4", "i5"}[i], tt.boot)
		if got := d.Identity().Dead; got != tt.dead {
			t.Errorf("start %d, in boot %q, takes %q for dead, want %q", i, tt.boot, got, tt.dead)
		}
		d.lock.Free()
	}
	d := start("copy", "b")
	d.lock.Forget()
	d.lock.Free()
	if got := start("next", "b").Identity().Dead; got != "" {
		t.Errorf("after a copy %q is dead", got)
	}
}
