// Package journal keeps a daemon's marks on its own host: a small file, on disk
// before anything below its mark is issued, in a state directory that one process at
// a time may hold.
//
// The directory holds these files of this package. "lock" is locked by the holder
// and never replaced, because replacing a file frees the lock that lies on it.
// "journal" is written in place: it has two slots, which are written in turn into the
// same open file, so that a write which is torn leaves the one before it whole. A
// write needs no new descriptor, no new block and no change of the directory, so that
// neither a full disk nor a full descriptor table stops a daemon that runs. (A file
// system that copies on write needs new blocks all the same.)
//
// A journal names the place where it was written. Anywhere else it is a copy, and
// only its marks count.
package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/internal/filesystem"
)

// ErrNone is what Read returns where no journal was ever written.
var ErrNone = errors.New("no journal")

// ErrMoved is what Write returns when the path of the state directory, of the lock
// in it or of the journal no longer leads to what was opened there: another process
// may hold the directory by now, or somebody put another journal in its place. It is
// final; issue nothing more above the last mark that was written.
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

// EarlierError is what a state directory of an earlier version is refused with.
type EarlierError struct{ Path string }

func (e *EarlierError) Error() string {
	return fmt.Sprintf("the state directory %s is of an earlier version of flakeward, whose journals this one does not read: "+
		"stop that version's daemon, wait for as long as its --window, then name another directory with --state-dir or remove this one", e.Path)
}

// Dir is a state directory held by this process, and its journal.
type Dir struct {
	*File
	path    string    // absolute
	changed time.Time // see Changed
	root    *os.Root  // all access goes through this handle, wherever the path leads
	self    *os.File  // the directory itself
	lock    *os.File
	here    place.Place // but for the journal's part
}

// File is a journal. It is for one goroutine at a time.
type File struct {
	path   string
	disk   Disk
	ready  bool   // the file is open, has its full length, and number is right
	number uint64 // of the newest write that is known to be whole
}

const (
	lockName    = "lock"
	journalName = "journal"
)

// OpenDir makes the directory at path (mode 0700) unless it is there, and takes its lock. What is
// written there names host as a part of its place. The error is an *InUseError if another process,
// or another Dir of this one, holds it. It refuses a directory on a network file system, where a
// lock may mean nothing to other hosts, and one that others may write to.
func OpenDir(path string, host place.Host) (*Dir, error) {
	return Options{}.OpenDir(path, host)
}

// Options are what a state directory can be opened with besides. A daemon has the zero value.
type Options struct {
	Disk func(Disk) Disk // returns the disk, given the real one; nil: the real one
	FUSE bool            // whether the directory may lie on FUSE
}

// OpenDir is as the function of that name, with the options.
func (o Options) OpenDir(path string, host place.Host) (*Dir, error) {
	return o.openDir(path, host, nil, filesystem.Of)
}

// Adopt is OpenDir with the directory's lock as another process has handed it over, which holds it
// as well; nil: it is taken. It is closed with the Dir.
func (o Options) Adopt(path string, host place.Host, lock *os.File) (*Dir, error) {
	return o.openDir(path, host, lock, filesystem.Of)
}

func (o Options) openDir(path string, host place.Host, lock *os.File, fileSystem func(dir *os.File) (filesystem.Type, error)) (_ *Dir, err error) {
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("state directory %s: %w", path, err)
	}
	changed := lastChange(path)
	if err := makeDir(path); err != nil {
		return nil, unopened("make", err)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, unopened("open", err)
	}
	d := &Dir{path: path, changed: changed, root: root, here: place.Place{Host: host}}
	defer func() {
		if err != nil {
			d.Close()
		}
	}()
	if d.self, err = root.Open("."); err != nil {
		return nil, unopened("open", err)
	}
	if err = d.fits(fileSystem, o.FUSE); err != nil {
		return nil, err
	}
	if d.lock, err = takeLock(root, path, lock); err != nil {
		return nil, err
	}
	if d.here.Dir, err = place.Of(d.self); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	if d.here.Lock, err = place.Of(d.lock); err != nil {
		return nil, fmt.Errorf("state directory: %w", err)
	}
	var at Disk = &realDisk{dir: d}
	if o.Disk != nil {
		at = o.Disk(at)
	}
	d.File = &File{path: filepath.Join(path, journalName), disk: at}
	if err = d.earlier(); err != nil {
		return nil, err
	}
	return d, nil
}

// fits refuses a directory that others may write to, and a file system that keeps no lock.
func (d *Dir) fits(fileSystem func(dir *os.File) (filesystem.Type, error), onFUSE bool) error {
	info, err := d.self.Stat()
	if err != nil {
		return fmt.Errorf("state directory: %w", err)
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("the state directory %s may be written by others (mode %04o): chmod it to 0700 or name a directory inside it", d.path, mode)
	}
	return local(d.self, d.path, fileSystem, onFUSE)
}

// local refuses a file system that keeps no lock, or no files at all. dir is the state directory at path, or where it
// would be made.
func local(dir *os.File, path string, fileSystem func(dir *os.File) (filesystem.Type, error), onFUSE bool) error {
	kind, err := fileSystem(dir)
	if err != nil {
		return fmt.Errorf("cannot tell the file system of the state directory %s: %w", path, err)
	}
	if name, kernels := kind.Kernels(); kernels {
		return fmt.Errorf("the state directory %s is on %s, a file system of the kernel, where no files can be made: name another with --state-dir", path, name)
	}
	if name, refused := kind.Refused(); refused && !(onFUSE && kind == filesystem.FUSE) {
		return fmt.Errorf("the state directory %s is on %s, where a lock and an fsync may not hold: put it on a local disk, in a container on a volume", path, name)
	}
	return nil
}

// Volatile says why the directory may be lost although no disk fails, and what to do; empty: no
// reason is known. The directory is open.
func (d *Dir) Volatile() string {
	kind, err := filesystem.Of(d.self)
	if err != nil {
		return "" // OpenDir has asked the same, and had an answer
	}
	return kind.Volatile()
}

// earlier refuses a directory of an earlier version: its journal has another format, or it has several.
func (d *Dir) earlier() error {
	newest, err := d.File.read()
	if err != nil {
		return nil // reading it says so
	}
	_, several := d.root.Lstat(journalName + "-1")
	if newest.version != 0 && newest.version < version || several == nil {
		return &EarlierError{Path: d.path}
	}
	return nil
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

// Lock returns the locked file, to be handed to another process.
func (d *Dir) Lock() *os.File { return d.lock }

// Path returns the directory's absolute path, as it was when it was opened.
func (d *Dir) Path() string { return d.path }

// Read returns what the last successful Write wrote, or what a Write that failed
// tried to. The error is ErrNone, a *TornError, or one of reading.
func (f *File) Read() (Contents, error) {
	newest, err := f.read()
	switch {
	case err != nil:
		return Contents{}, err
	case newest.number != 0:
		return newest.contents, nil
	case newest.reason != "":
		return Contents{}, &TornError{Path: f.path, Reason: newest.reason}
	}
	return Contents{}, fmt.Errorf("%s: %w", f.path, ErrNone)
}

func (f *File) read() (found, error) {
	data, err := f.disk.Read()
	var torn *TornError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return found{}, nil
	case errors.As(err, &torn):
		return found{reason: torn.Reason}, nil
	case err != nil:
		return found{}, fmt.Errorf("cannot read the journal %s: %w", f.path, err)
	}
	return decode(data), nil
}

// Elsewhere returns what shows that c, which Read returned, was written elsewhere
// than where the journal lies; "" if it was written here. Contents of elsewhere
// count for their Floors alone.
func (f *File) Elsewhere(c Contents) (why string, err error) {
	here, err := f.disk.Place()
	if err != nil {
		return "", fmt.Errorf("the place of the journal %s: %w", f.path, err)
	}
	return c.Place.Elsewhere(here), nil
}

// SameBoot reports whether c was written since the machine's last boot.
func (f *File) SameBoot(c Contents) bool {
	here, err := f.disk.Place()
	return err == nil && here.Boot != "" && c.Place.Boot == here.Boot
}

// Write makes c, with the journal's place, what the journal says, and returns nil once
// that would survive a power cut. After an error the journal says either what it said
// before or c, and the mark that counts is the lower: the one written before. The error
// is ErrMoved if the directory, its lock or the journal was replaced under us.
func (f *File) Write(c Contents) error {
	if err := f.disk.Ours(); err != nil {
		return err
	}
	if err := f.prepare(); err != nil {
		return f.failed(err)
	}
	var err error
	if c.Place, err = f.disk.Place(); err != nil {
		return fmt.Errorf("the place of the journal %s: %w", f.path, err)
	}
	// The other slot holds the newest write that is whole. After a write that failed
	// it still does, so the same slot is written again.
	number := f.number + 1
	data, err := encode(c, number)
	if err != nil {
		return fmt.Errorf("journal %s: %w", f.path, err)
	}
	if err := f.disk.WriteAt(data, slotOf(number)); err != nil {
		return f.failed(err)
	}
	if err := f.disk.Sync(); err != nil {
		return f.failed(err)
	}
	f.number = number
	// Once more: whoever took a new lock before the write may have read the
	// old journal. Whoever takes one later reads the new.
	return f.disk.Ours()
}

// prepare makes the file ready to be written in place, once.
func (f *File) prepare() error {
	if f.ready {
		return nil
	}
	newest, err := f.read()
	// What cannot be read or is not trusted now, and could be later, must not come back then beside
	// what is written, nor a part of it after a power cut. So it is not overwritten but removed.
	if err != nil || newest.reason != "" {
		if err := f.disk.Discard(); err != nil {
			return err
		}
	}
	if err := prepare(f.disk); err != nil {
		return err
	}
	if newest.number != 0 {
		// What was read may be in memory alone, if the process before could not sync it. The slot
		// of the write before it, which is on the disk, is written next: so this one has to be
		// there first. It is written again, as a sync that failed may have the next one do nothing.
		data, err := encode(newest.contents, newest.number)
		if err != nil {
			return fmt.Errorf("the last write once more: %w", err)
		}
		if err := f.disk.WriteAt(data, slotOf(newest.number)); err != nil {
			return err
		}
		if err := f.disk.Sync(); err != nil {
			return err
		}
	}
	f.ready, f.number = true, newest.number
	return nil
}

func (f *File) failed(err error) error {
	return fmt.Errorf("cannot write the journal %s: %w: %s", f.path, err, advice(err))
}

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
	var errs []error
	if d.File != nil {
		errs = append(errs, d.disk.Close())
	}
	if d.root == nil { // see On
		return errors.Join(errs...)
	}
	for _, f := range []*os.File{d.self, d.lock} {
		if f != nil {
			errs = append(errs, f.Close())
		}
	}
	errs = append(errs, d.root.Close())
	return errors.Join(errs...)
}
