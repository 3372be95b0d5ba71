// Package filelock locks a file for one process, which leaves its number there.
package filelock

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// HeldError says that another process, or another handle of this one, has the lock.
type HeldError struct {
	PID int // of the holder, as it wrote it down; 0: unknown. Another container may count differently
}

func (e *HeldError) Error() string { return Process(e.PID) + " holds the lock" }

// Process names a process by its number, where that is not 0.
func Process(pid int) string {
	if pid > 0 {
		return "process " + strconv.Itoa(pid)
	}
	return "another process"
}

// Lock locks f and does not wait: the error is a *HeldError if another has it. The lock ends with
// the file's last handle, so also with the process. A child that is started does not inherit it, as
// Go opens every file close-on-exec. What the file held is replaced by the process's number.
// Nothing but the error of others rests on that.
func Lock(f *os.File) error {
	err := flock(f)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return &HeldError{PID: readPID(f)}
	}
	if err != nil {
		return fmt.Errorf("flock: %w", err)
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// readPID returns the number in the file, or 0: the holder may not have written it yet.
func readPID(f *os.File) int {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 32))
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(b)))
	if err != nil || pid < 0 {
		return 0
	}
	return pid
}
