// Package filelock locks a file for one process, which leaves its number and a note there.
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
	PID int // of the holder, as it wrote it down; 0: unknown, or of another container, which counts for itself
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
// Go opens every file close-on-exec. What the file held is replaced by the process's number and the
// note, which is one line; before is the note of the process that had the lock last. Both are
// hints.
func Lock(f *os.File, note string) (before string, err error) {
	err = flock(f)
	pid, before := read(f)
	if errors.Is(err, unix.EWOULDBLOCK) {
		if pid == os.Getpid() { // nobody is to end process 1 for it
			pid = 0
		}
		return "", &HeldError{PID: pid}
	}
	if err != nil {
		return "", fmt.Errorf("flock: %w", err)
	}
	return before, Write(f, note)
}

// Write has a file, whose lock this process has, hold its number and the note.
func Write(f *os.File, note string) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"+note+"\n"), 0)
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

// read returns the number in the file, or 0, as the holder may not have written it yet; and the
// note.
func read(f *os.File) (pid int, note string) {
	b, err := io.ReadAll(io.NewSectionReader(f, 0, 128))
	if err != nil {
		return 0, ""
	}
	number, rest, _ := strings.Cut(string(b), "\n")
	note, _, _ = strings.Cut(rest, "\n")
	if pid, err = strconv.Atoi(number); err != nil || pid < 0 {
		return 0, note
	}
	return pid, note
}
