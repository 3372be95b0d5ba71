package tsc

import (
	"bufio"
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
)

// Cycles reads the time stamp counter. The processor may read it some hundred instructions before
// or after its neighbours, which is less than a microsecond.
//
//go:noescape
func Cycles() uint64

// trusted reports whether the kernel takes its own time from the counter, which it does only where
// the counters of all processors agree (Documentation/virt/kvm/x86/timekeeping.rst, and
// check_tsc_warp in arch/x86/kernel/tsc_sync.c), and the counter runs at one rate, whatever the
// processor's frequency and sleep.
func trusted() bool {
	source, err := os.ReadFile("/sys/devices/system/clocksource/clocksource0/current_clocksource")
	return err == nil && string(bytes.TrimSpace(source)) == "tsc" && invariant()
}

var invariant = sync.OnceValue(func() bool {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return false
	}
	defer f.Close() // read only
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if name, value, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(name) == "flags" {
			flags := strings.Fields(value)
			return slices.Contains(flags, "constant_tsc") && slices.Contains(flags, "nonstop_tsc")
		}
	}
	return false
})
