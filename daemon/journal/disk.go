package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/flakeward/flakeward/daemon/place"
)

// Disk is where a journal lies: a file that is written in place. Each step may fail, and
// what an unfinished one leaves is the disk's affair.
type Disk interface {
	// Read returns what the file holds; fs.ErrNotExist if there is none, and *TornError if what is
	// there is no regular file.
	Read() ([]byte, error)
	// Open opens the file for writing and returns its present length in bytes. It makes the file if
	// there is none, and then its name survives a power cut. A later call returns the file that is
	// open.
	Open() (length int64, err error)
	// Discard removes the file, whatever it is, in one step that survives a power cut as a whole or
	// not at all. It is no error if there is none.
	Discard() error
	// WriteAt writes into the open file.
	WriteAt(data []byte, at int64) error
	// Sync makes what was written survive a power cut.
	Sync() error
	// Ours returns ErrMoved if the path no longer leads to the open file, or to the directory.
	Ours() error
	// Place is where the open file, or the one that Read read, lies.
	Place() (place.Place, error)
	// Close closes the file.
	Close() error
}

// prepare opens the file and makes it as long as it will ever be, so that no later write needs room
// on the disk, a descriptor or a change of the directory.
func prepare(d Disk) error {
	length, err := d.Open()
	if err != nil || length >= fileSize {
		return err
	}
	// Zeros that are written and not only reserved: a reserved block is turned into a written one
	// by a change of the file system's own books, which a full disk may have no room for.
	if err := d.WriteAt(make([]byte, fileSize-length), length); err != nil {
		return err
	}
	return d.Sync()
}

// realDisk works through the directory's handle: never through a path, which
// may lead elsewhere by now.
type realDisk struct {
	dir  *Dir
	file *os.File // open for writing; nil: not yet
	at   place.File
}

func (d *realDisk) path() string { return filepath.Join(d.dir.path, journalName) }

// errNoFile is what is in a journal's place and is no regular file.
func errNoFile(kind fs.FileMode) error {
	return &TornError{Reason: fmt.Sprintf("it is no regular file but %s", kind.Type())}
}

// open opens the file, which a pipe in its place would block.
func (d *realDisk) open(flag int) (*os.File, error) {
	info, err := d.dir.root.Lstat(journalName)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNoFile(info.Mode())
	}
	f, err := d.dir.root.OpenFile(journalName, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	if d.at, err = place.Of(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Read implements Disk.
func (d *realDisk) Read() ([]byte, error) {
	f := d.file
	if f == nil {
		var err error
		if f, err = d.open(os.O_RDONLY); err != nil {
			return nil, err
		}
		defer f.Close() // it was only read
	}
	data := make([]byte, fileSize)
	n, err := f.ReadAt(data, 0)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return data[:n], err
}

// errShared is what is in a journal's place and has another name as well.
var errShared = &TornError{Reason: "it has another name, where another daemon may write to it"}

// openAlone opens the file for writing, unless it has another name: the copy of a directory by hard
// links has the same journal, and two daemons would write over each other's slots.
func (d *realDisk) openAlone() (*os.File, error) {
	f, err := d.open(os.O_RDWR)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil {
		if s, ok := info.Sys().(*syscall.Stat_t); ok && s.Nlink > 1 {
			err = errShared
		}
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Open implements Disk.
func (d *realDisk) Open() (int64, error) {
	if d.file == nil {
		f, err := d.openAlone()
		if torn := (*TornError)(nil); errors.As(err, &torn) {
			if err = d.dir.root.Remove(journalName); err == nil {
				err = fs.ErrNotExist
			}
		}
		if errors.Is(err, fs.ErrNotExist) {
			f, err = d.make()
		}
		if err != nil {
			return 0, err
		}
		d.file = f
	}
	info, err := d.file.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// make makes an empty file. Whether its name survived a power cut is of no interest while it is
// empty, so the directory is synced first.
func (d *realDisk) make() (*os.File, error) {
	f, err := d.dir.root.OpenFile(journalName, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if err := d.dir.self.Sync(); err != nil {
		return nil, errors.Join(err, f.Close(), d.dir.root.Remove(journalName))
	}
	if d.at, err = place.Of(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// Discard implements Disk.
func (d *realDisk) Discard() error {
	if d.file != nil {
		if err := d.file.Close(); err != nil {
			return err
		}
		d.file = nil
	}
	if err := d.dir.root.Remove(journalName); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return d.dir.self.Sync()
}

// WriteAt implements Disk.
func (d *realDisk) WriteAt(data []byte, at int64) error {
	_, err := d.file.WriteAt(data, at)
	return err
}

// Sync implements Disk.
func (d *realDisk) Sync() error { return syncData(d.file) }

// Ours implements Disk.
func (d *realDisk) Ours() error {
	if err := d.dir.inPlace(); err != nil {
		return err
	}
	if d.file == nil {
		return nil
	}
	return same(d.path(), d.file, os.Lstat)
}

// Place implements Disk.
func (d *realDisk) Place() (place.Place, error) {
	here := d.dir.here
	here.Journal = d.at
	return here, nil
}

// Close implements Disk.
func (d *realDisk) Close() error {
	if d.file == nil {
		return nil
	}
	return d.file.Close()
}

// advice tells the operator what to do about a failed write.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full: free space on it"
	case errors.Is(err, syscall.EFBIG):
		return "a limit on the size of files is in the way: raise it"
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		return "too many files are open: raise the limit (ulimit -n, LimitNOFILE), or close some"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only: check its disk and mount it for writing"
	case errors.Is(err, fs.ErrPermission):
		return "give the daemon's user the right to write there"
	default:
		return "check the disk"
	}
}
