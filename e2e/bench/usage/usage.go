// Package usage reads what the kernel counts for a process. It needs /proc, which only Linux has.
package usage

import (
	"errors"
	"fmt"
	"time"

	"github.com/prometheus/procfs"
)

// Memory is what a process has in physical memory, in bytes.
type Memory struct {
	Resident int64 // now
	Peak     int64 // at most since its start
}

// MemoryOf reads the process's memory.
func MemoryOf(pid int) (Memory, error) {
	status, err := read(pid, procfs.Proc.NewStatus)
	if err == nil && (status.VmRSS == 0 || status.VmHWM == 0) {
		err = errors.New("/proc/PID/status names no VmRSS or no VmHWM: has the process ended?")
	}
	return Memory{Resident: int64(status.VmRSS), Peak: int64(status.VmHWM)}, err
}

// CPUOf reads how much processor time the process has used, in user and kernel mode, all
// its threads together, in steps of 10 ms.
func CPUOf(pid int) (time.Duration, error) {
	stat, err := read(pid, procfs.Proc.Stat)
	return time.Duration(stat.UTime+stat.STime) * clockTick, err
}

// clockTick is the unit of times in /proc/PID/stat: sysconf(_SC_CLK_TCK) is 100 a second
// on every Linux, whatever the kernel's own tick is (time(7)).
const clockTick = time.Second / 100

func read[T any](pid int, what func(procfs.Proc) (T, error)) (found T, err error) {
	p, err := procfs.NewProc(pid)
	if err == nil {
		found, err = what(p)
	}
	if err != nil {
		return found, fmt.Errorf("what the process %d uses is not known: %w", pid, err)
	}
	return found, nil
}
