package embedded

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrFailed means that a server in this process has failed for good: etcd has left
// parts of it behind that still hold its files, so only a new process can start it
// again.
var ErrFailed = errors.New("only a new process can start it again")

// ErrInUse means that another process runs the server of the directory.
var ErrInUse = errors.New("stop that one or use another state directory")

// lockDir makes the directory and locks it: etcd itself would wait for another
// process without end.
func lockDir(dir string) (*os.File, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("the directory of the embedded etcd cannot be made: %w", err)
	}
	f, err := os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("the lock of the embedded etcd cannot be opened: %w", err)
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(whyLocked(dir, f, err), f.Close())
	}
	return f, nil
}

// abandoned are the locks of the servers that failed in this process. They are kept
// open to its end, as the files are that etcd has left behind.
var abandoned struct {
	sync.Mutex
	locks []abandonedLock
}

type abandonedLock struct {
	file *os.File
	why  error
}

// abandon keeps the lock to the end of the process.
func abandon(lock *os.File, why error) {
	abandoned.Lock()
	defer abandoned.Unlock()
	abandoned.locks = append(abandoned.locks, abandonedLock{lock, why})
}

// whyLocked explains why the lock in dir was refused: a server of this process has
// failed there, whatever path it knew the directory by, or another process has it.
func whyLocked(dir string, lock *os.File, refused error) error {
	if info, err := lock.Stat(); err == nil {
		abandoned.Lock()
		defer abandoned.Unlock()
		for _, a := range abandoned.locks {
			if held, err := a.file.Stat(); err == nil && os.SameFile(info, held) {
				return a.why
			}
		}
	}
	return fmt.Errorf("the embedded etcd in %s is in use by another process; %w (%w)", dir, ErrInUse, refused)
}
