// Package journal keeps a daemon's mark on its own host: a small file, on disk
// before anything below its mark is issued, in a state directory that one
// process at a time may hold.
//
// The directory holds two files of this package. "lock" is locked by the holder
// and never replaced, because replacing a file frees the lock that lies on it.
// "journal" is replaced as a whole at every write, so that whoever reads it
// after a crash finds the contents of one write and never parts of two.
package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/flakeward/flakeward/generator"
)

// Contents is all that a journal says. Strings are valid UTF-8.
type Contents struct {
	Cluster string  `json:"cluster"` // the cluster's UUID
	Coord   string  `json:"coord"`   // the coordinator's URL
	Layout  string  `json:"layout"`  // the layout in its full form, with its epoch
	Lanes   []Entry `json:"lanes"`   // one for each worker ID, in no order that matters
}

// Entry is one lane's part of the journal.
type Entry struct {
	Worker  int            `json:"worker"`  // at least 0
	Opening string         `json:"opening"` // the opening that the lane came from; never empty
	Claim   string         `json:"claim"`   // the claim node's name
	Mark    generator.Tick `json:"mark"`    // nothing above it was issued; at least 0
	Ceiling generator.Tick `json:"ceiling"` // acknowledged by the coordinator; 0: no grant is left
}

// ErrNone is what Read returns where no journal was ever written.
var ErrNone = errors.New("no journal")

// ErrMoved is what Write returns when the path of the state directory, or of
// the lock in it, no longer leads to what OpenDir found there: another process
// may hold the directory by now. It is final; issue nothing more above the last
// mark that was written.
var ErrMoved = errors.New("the state directory is not ours any more")

// TornError is what Read returns for a journal that cannot be trusted: cut off,
// altered, too large, or of a format that this version does not know. Its worker
// IDs' records rule instead, and the next Write replaces it.
type TornError struct {
	Path   string // of the journal
	Reason string
}

func (e *TornError) Error() string {
	return fmt.Sprintf("the journal %s is not trusted: %s", e.Path, e.Reason)
}

// Dir is a state directory held by this process. It is for one goroutine at a
// time.
type Dir struct {
	path string   // absolute
	root *os.Root // all access goes through this handle, wherever the path leads
	self *os.File // the directory itself
	lock *os.File
	disk disk
	away func() error // instead of the look at the path, where there is none; see On
}

const (
	lockName    = "lock"
	journalName = "journal"
	tempName    = "journal.tmp"
)

// OpenDir makes the directory at path (mode 0700) unless it is there, and takes
// its lock. The error is an *InUseError if another process, or another Dir of
// this one, holds it. It refuses a directory on a network file system, where a
// lock may mean nothing to other hosts, and one that others may write to.
func OpenDir(path string) (*Dir, error) { return openDir(path, fileSystemOf) }

func openDir(path string, fileSystem func(dir *os.File) (fileSystemType, error)) (_ *Dir, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, err)
	}
	if err := makeDir(path); err != nil {
		return nil, fmt.Errorf("cannot make the state directory: %w", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, fmt.Errorf("cannot open the state directory: %w", err)
	}
	d := &Dir{path: path, root: root}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if d.self, err = root.Open("."); err != nil {
		return nil, fmt.Errorf("cannot open the state directory: %w", err)
	}
	info, err := d.self.Stat()
	if err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return nil, fmt.Errorf("the state directory %s may be written by others (mode %04o): chmod it to 0700 or name a directory inside it", path, mode)
	}
	kind, err := fileSystem(d.self)
	if err != nil {
		return nil, fmt.Errorf("cannot tell the file system of the state directory %s: %w", path, err)
	}
	if name, refused := kind.refused(); refused {
		return nil, fmt.Errorf("the state directory %s is on %s, where a lock and an fsync may not hold: put it on a local disk", path, name)
	}
	if d.lock, err = takeLock(root, path); err != nil {
		return nil, err
	}
	if d.disk, err = diskOf(&realDisk{root: root, dir: d.self}); err != nil {
		return nil, err
	}
	return d, nil
}

// makeDir makes the directory at path, and those above it, unless they are there.
// What it makes survives a power cut, or the journal inside would not.
func makeDir(path string) error {
	err := os.Mkdir(path, 0o700)
	if errors.Is(err, fs.ErrNotExist) {
		if err := makeDir(filepath.Dir(path)); err != nil {
			return err
		}
		err = os.Mkdir(path, 0o700)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil // if it is no directory, opening it will say so
	}
	if err != nil {
		return err
	}
	above, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(above.Sync(), above.Close())
}

// Path returns the directory's absolute path, as it was when it was opened.
func (d *Dir) Path() string { return d.path }

// Read returns what the last successful Write wrote, or what a Write that failed
// at its very end tried to. The error is ErrNone, a *TornError, or one of
// reading.
func (d *Dir) Read() (Contents, error) {
	path := filepath.Join(d.path, journalName)
	data, err := d.disk.read()
	var torn *TornError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return Contents{}, fmt.Errorf("%s: %w", path, ErrNone)
	case errors.As(err, &torn):
		return Contents{}, &TornError{Path: path, Reason: torn.Reason}
	case err != nil:
		return Contents{}, fmt.Errorf("cannot read the journal %s: %w", path, err)
	}
	c, reason := decode(data)
	if reason != "" {
		return Contents{}, &TornError{Path: path, Reason: reason}
	}
	return c, nil
}

// Write replaces the journal and returns nil once the new one would survive a
// power cut. After an error the journal holds either its old contents or c, and
// the mark that counts is the lower: the one written before. The error is
// ErrMoved if the directory or its lock was replaced under us.
func (d *Dir) Write(c Contents) error {
	path := filepath.Join(d.path, journalName)
	data, err := encode(c)
	if err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	if err := d.ours(); err != nil {
		return err
	}
	if err := replace(d.disk, data); err != nil {
		return fmt.Errorf("cannot write the journal %s: %w: %s", path, err, advice(err))
	}
	// Once more: whoever took a new lock before the rename may have read the
	// old journal. Whoever takes one later reads the new.
	return d.ours()
}

// ours returns nil if the path still leads to the directory and the lock that
// this Dir holds. Neither inode can be used again while its handle is open, so
// equal numbers mean the same file.
func (d *Dir) ours() error {
	if d.away != nil {
		return d.away()
	}
	if err := same(d.path, d.self, os.Stat); err != nil {
		return err
	}
	return same(filepath.Join(d.path, lockName), d.lock, os.Lstat)
}

func same(path string, held *os.File, stat func(string) (fs.FileInfo, error)) error {
	want, err := held.Stat()
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	got, err := stat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %s is gone: stop the daemon and start it again", ErrMoved, path)
	}
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if !os.SameFile(got, want) {
		return fmt.Errorf("%w: %s is another file than at the start: stop the daemon and start it again", ErrMoved, path)
	}
	return nil
}

// Close frees the lock. The files stay. Every later call fails.
func (d *Dir) Close() error {
	if d.root == nil { // see On
		return nil
	}
	var errs []error
	for _, f := range []*os.File{d.self, d.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	errs = append(errs, d.root.Close())
	return errors.Join(errs...)
}
