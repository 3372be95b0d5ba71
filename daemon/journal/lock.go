package journal

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/flakeward/flakeward/internal/filelock"
)

// InUseError is what OpenDir returns for a directory whose lock is held.
type InUseError struct {
	Dir string
	PID int // of the holder, as it wrote it down; 0: unknown. Another container may count differently
}

func (e *InUseError) Error() string {
	return fmt.Sprintf("the state directory %s is in use by %s: stop it, or give this daemon a directory of its own",
		e.Dir, filelock.Process(e.PID))
}

// takeLock returns the locked lock file of the directory: handed, unless that is nil.
func takeLock(root *os.Root, dir string, handed *os.File) (_ *os.File, err error) {
	path, f := filepath.Join(dir, lockName), handed
	if f == nil {
		if f, err = root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, 0o600); err != nil {
			return nil, fmt.Errorf("cannot open the lock %s: %w: %s", path, err, advice(err))
		}
	}
	defer func() {
		if err != nil {
			f.Close()
		}
	}()
	err = filelock.Lock(f)
	var held *filelock.HeldError
	if errors.As(err, &held) {
		return nil, &InUseError{Dir: dir, PID: held.PID}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot lock %s: %w: %s", path, err, advice(err))
	}
	// Between the open and the lock the file may have been replaced: then the
	// lock is on a file that nobody else will look at.
	if err = same(path, f, os.Lstat); err != nil {
		return nil, err
	}
	return f, nil
}
