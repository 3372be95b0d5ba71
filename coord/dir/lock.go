package dir

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/internal/filesystem"
)

// directory is an open file description of the directory. What is done through it is done there,
// wherever its path leads. As long as it is open, no other directory has its inode number.
type directory struct {
	path   string
	root   *os.Root
	self   *os.File // the directory itself, which is the lock
	info   os.FileInfo
	shared bool // its operator lets a group write there
	sync   func(*os.File) error
}

// open opens the directory and refuses one where a lock or an fsync may not hold, or anybody may
// write.
func (s *store) open() (_ *directory, err error) {
	d := &directory{path: s.config.Path, sync: func(f *os.File) error { return s.sync(f) }}
	if d.root, err = os.OpenRoot(d.path); err != nil {
		return nil, d.unopened(err)
	}
	defer func() {
		if err != nil {
			d.close()
		}
	}()
	if d.self, err = d.root.Open("."); err != nil {
		return nil, d.unopened(err)
	}
	if d.info, err = d.self.Stat(); err != nil {
		return nil, failed(d.path, err)
	}
	if d.info.Mode().Perm()&0o002 != 0 {
		return nil, &Error{CodeAccess, d.path, fmt.Sprintf("anybody may write there (mode %04o)", d.info.Mode().Perm()), "name a directory inside it with --coord dir:PATH", nil}
	}
	d.shared = d.info.Mode().Perm()&0o070 == 0o070
	kind, err := filesystem.Of(d.self)
	if err != nil {
		return nil, failed(d.path, err)
	}
	if err = s.config.lasts(kind); err != nil {
		return nil, err
	}
	return d, nil
}

// lasts refuses a file system where a lock or an fsync may not hold.
func (c Config) lasts(kind filesystem.Type) error {
	if name, refused := kind.Refused(); refused && !(c.FUSE && kind == filesystem.FUSE) {
		return &Error{CodeFileSystem, c.Path, "it is on " + name + ", where a lock and an fsync may not hold", "name a directory on a local disk with --coord dir:PATH", nil}
	}
	if name, kernels := kind.Kernels(); kernels {
		return &Error{CodeFileSystem, c.Path, "it is on " + name + ", a file system of the kernel, where no files can be made", "name a directory on a local disk with --coord dir:PATH", nil}
	}
	if why := kind.Volatile(); why != "" {
		c.Log.Warn("the coordinator's directory does not last: "+why, "path", c.Path)
	}
	return nil
}

// unopened explains why the directory was not opened. One that is not there is fs.ErrNotExist.
func (d *directory) unopened(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if info, no := os.Stat(d.path); no == nil && !info.IsDir() {
		return &Error{CodeMissing, d.path, "it is not a directory", "name another with --coord dir:PATH", err}
	}
	return failed(d.path, err)
}

// close unlocks before it closes: a child between fork and exec has the description as well.
func (d *directory) close() {
	if d.self != nil {
		_ = flock(d.self, unix.LOCK_UN)
		_ = d.self.Close()
	}
	_ = d.root.Close()
}

// inode is the directory's inode number.
func (d *directory) inode() uint64 { return inodeOf(d.info) }

// The pauses between two tries of a lock.
const (
	minPause = time.Millisecond
	maxPause = 5 * time.Millisecond
)

// lock takes the directory's lock. It tries until ctx ends: nothing ends a flock that waits.
func (d *directory) lock(ctx context.Context) error {
	for {
		err := flock(d.self, unix.LOCK_EX|unix.LOCK_NB)
		if err == nil {
			return nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return failed(d.path, fmt.Errorf("flock: %w", err))
		}
		pause(ctx, minPause+rand.N(maxPause-minPause))
		if ctx.Err() != nil {
			return &Error{CodeBusy, d.path, holderOf(d.inode()) + " has the directory's lock and does not end its write", "end or continue that process; IDs are issued up to what was granted", ctx.Err()}
		}
	}
}

func (d *directory) unlock() { _ = flock(d.self, unix.LOCK_UN) }

// flock is flock(2), which a signal interrupts.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how)
		if err != unix.EINTR {
			return err
		}
	}
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
}

// elsewhereError means that this directory is not where the cluster was made, or that another one
// is at the path by now: by its code.
type elsewhereError struct {
	why   *Error
	found claims.Entry // the cluster record there
}

func (e *elsewhereError) Error() string { return e.why.Error() }
func (e *elsewhereError) Unwrap() error { return e.why }

// same returns a *elsewhereError unless the path leads to this directory.
func (d *directory) same() error {
	now, err := os.Stat(d.path)
	switch {
	case err == nil && os.SameFile(now, d.info):
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return failed(d.path, err)
	}
	e := &elsewhereError{why: &Error{CodeReplaced, d.path, "another directory is there than the one that was opened, or none", "put that back, or start the daemon again", nil}}
	// A file is replaced as a whole, so it can be read without a lock.
	if b, err := os.ReadFile(filepath.Join(d.path, clusterName)); err == nil {
		e.found, _, _ = decodeCluster(b) // a damaged one is no cluster's
	}
	return e
}
