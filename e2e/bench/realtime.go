package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// realTime gives all threads of a process real-time priority, and so those that they start later:
// SCHED_RR with priority 1, the lowest (sched(7)). Nothing at the usual priority then keeps them
// from a processor. Who may is root, or has the capability CAP_SYS_NICE; for others the error is
// fs.ErrPermission.
func realTime(pid int) error {
	set := make(map[int]bool)
	for {
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		if err != nil {
			return fmt.Errorf("the threads of process %d are not known: %w", pid, err)
		}
		before := len(set)
		for _, thread := range threads {
			id, err := strconv.Atoi(thread.Name())
			if err != nil || set[id] {
				continue
			}
			err = unix.SchedSetAttr(id, &unix.SchedAttr{Size: unix.SizeofSchedAttr, Policy: unix.SCHED_RR, Priority: 1}, 0)
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

// refused reports whether an error says that this process may not do it at all.
func refused(err error) bool { return errors.Is(err, fs.ErrPermission) }
