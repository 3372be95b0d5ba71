package realtime

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// Process gives real-time priority to all threads of a process, and so to those that they start
// later.
func Process(pid int) error {
	set := make(map[int]bool)
	for {
		threads, err := threadsOf(pid)
		if err != nil {
			return err
		}
		before := len(set)
		for _, id := range threads {
			if set[id] {
				continue
			}
			err := unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
			if err != nil && !errors.Is(err, unix.ESRCH) { // a thread that is gone needs none
				return fmt.Errorf("real-time priority is refused: %w: run this as root, or with CAP_SYS_NICE", err)
			}
			set[id] = true
		}
		if len(set) == before { // else a thread that was not set yet may have started one
			return nil
		}
	}
}

// threadsOf are the IDs of a process's threads.
func threadsOf(pid int) (ids []int, err error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, fmt.Errorf("the threads of process %d are not known: %w", pid, err)
	}
	for _, e := range entries {
		if id, err := strconv.Atoi(e.Name()); err == nil {
			ids = append(ids, id)
		}
	}
	return ids, nil
}
