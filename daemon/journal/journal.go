// Package journal keeps a daemon's marks on its own host: a small file for each
// lane, on disk before anything below its mark is issued, in a state directory
// that one process at a time may hold.
//
// The directory holds these files of this package. "lock" is locked by the holder
// and never replaced, because replacing a file frees the lock that lies on it.
// "journal" is the first lane's, and "journal-1", "journal-2" and so on are the
// others'. Each is replaced as a whole at every write, so that whoever reads it
// after a crash finds the contents of one write and never parts of two; and each
// has a temporary file of its own, so that no lane waits for another's write.
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
	Lanes   []Entry `json:"lanes"`   // one for each worker ID: the one in use last, before it one that is being left, first those of clusters that were left
}

// Entry is one worker ID's part of a journal.
type Entry struct {
	Worker  int            `json:"worker"`  // at least 0
	Opening string         `json:"opening"` // the opening that the lane came from; never empty
	Claim   string         `json:"claim"`   // the claim node's name
	Mark    generator.Tick `json:"mark"`    // nothing above it was issued; at least 0
	Ceiling generator.Tick `json:"ceiling"` // acknowledged by the coordinator; 0: no grant is left
	// Left is set for a worker ID of a cluster that was left for the one of this journal. Of such an entry the mark counts, and nothing else.
	Left bool `json:"left,omitempty"`
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

// MaxLanes is how many journals a state directory may have.
const MaxLanes = 64

// Dir is a state directory held by this process, and the journal of its first
// lane. Lane and Close are for one goroutine; the journals are independent of
// each other.
type Dir struct {
	*File
	path  string   // absolute
	root  *os.Root // all access goes through this handle, wherever the path leads
	self  *os.File // the directory itself
	lock  *os.File
	ours  func() error // nil if the directory is still the one that was opened
	lanes []*File      // by lane, as far as they were asked for
	count int
	made  func(lane int) (disk, error)
}

// File is the journal of one lane. It is for one goroutine at a time.
type File struct {
	dir  *Dir
	name string
	disk disk
}

const (
	lockName    = "lock"
	journalName = "journal"
	tempName    = journalName + tempSuffix
	tempSuffix  = ".tmp"
)

// nameOf is the name of a lane's journal. The first lane's is what it was called
// when there was but one.
func nameOf(lane int) string {
	if lane == 0 {
		return journalName
	}
	return fmt.Sprintf("%s-%d", journalName, lane)
}

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
	d := &Dir{path: path, root: root, count: MaxLanes}
	d.ours = d.inPlace
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
	d.made = func(lane int) (disk, error) {
		return diskOf(&realDisk{root: root, dir: d.self, name: nameOf(lane)})
	}
	if d.File, err = d.Lane(0); err != nil {
		return nil, err
	}
	return d, nil
}

// Lanes returns how many lanes can have a journal here.
func (d *Dir) Lanes() int { return d.count }

// Lane returns the journal of a lane, from 0, the first, to Lanes()-1. It makes no
// file: the first Write does.
func (d *Dir) Lane(lane int) (*File, error) {
	if lane < 0 || lane >= d.count {
		return nil, fmt.Errorf("state directory %s: there is no lane %d: the lanes are 0 to %d", d.path, lane, d.count-1)
	}
	for len(d.lanes) <= lane {
		d.lanes = append(d.lanes, nil)
	}
	if d.lanes[lane] == nil {
		disk, err := d.made(lane)
		if err != nil {
			return nil, err
		}
		d.lanes[lane] = &File{dir: d, name: nameOf(lane), disk: disk}
	}
	return d.lanes[lane], nil
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
func (f *File) Read() (Contents, error) {
	path := f.path()
	data, err := f.disk.read()
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
func (f *File) Write(c Contents) error {
	path := f.path()
	data, err := encode(c)
	if err != nil {
		return fmt.Errorf("journal %s: %w", path, err)
	}
	if err := f.dir.ours(); err != nil {
		return err
	}
	if err := replace(f.disk, data); err != nil {
		return fmt.Errorf("cannot write the journal %s: %w: %s", path, err, advice(err))
	}
	// Once more: whoever took a new lock before the rename may have read the
	// old journal. Whoever takes one later reads the new.
	return f.dir.ours()
}

func (f *File) path() string { return filepath.Join(f.dir.path, f.name) }

// inPlace returns nil if the path still leads to the directory and the lock that
// this Dir holds. Neither inode can be used again while its handle is open, so
// equal numbers mean the same file.
func (d *Dir) inPlace() error {
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
