package journal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// InUseError is what OpenDir returns for a directory whose lock is held.
type InUseError struct {
	Dir string
	PID int // of the holder, as it wrote it down; 0: unknown. Another container may count differently
}

func (e *InUseError) Error() string {
	holder := "another process"
	if e.PID > 0 {
		holder = "process " + strconv.Itoa(e.PID)
	}
	return fmt.Sprintf("the state directory %s is in use by %s: stop it, or give this daemon a directory of its own", e.Dir, holder)
}

// takeLock returns the locked lock file of the directory. The lock ends with the
// file's last handle, so also with the process; a child that is started does not
// inherit it, as Go opens every file close-on-exec.
func takeLock(root *os.Root, dir string) (_ *os.File, err error) {
	path := filepath.Join(dir, lockName)
	f, err := root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot open the lock %s: %w: %s", path, err, advice(err))
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	err = flock(f)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, &InUseError{Dir: dir, PID: readPID(f)}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	// Between the open and the lock the file may have been replaced: then the
	// lock is on a file that nobody else will look at.
	if err = same(path, f, os.Lstat); err != nil {
		return nil, err
	}
	if err = writePID(f); err != nil {
		return nil, fmt.Errorf("cannot write to the lock %s: %w: %s", path, err, advice(err))
	}
	return f, nil
}

func flock(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// writePID leaves this process's number in the lock for the error that others
// get. Nothing but that error rests on it.
func writePID(f *os.File) error {
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err := f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// readPID returns the number in the lock, or 0: the holder may not have written
// it yet.
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
