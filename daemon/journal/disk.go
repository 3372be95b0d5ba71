package journal

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// disk is what replacing a journal takes, step by step, so that each step can
// be made to fail.
type disk interface {
	read() ([]byte, error)       // the journal; fs.ErrNotExist, *TornError if it is no file or too large
	openTemp() (tempFile, error) // an empty file beside it
	rename() error               // puts the temporary file in the journal's place
	removeTemp() error           // drops the temporary file
	syncDir() error              // makes a rename survive a power cut
}

type tempFile interface {
	io.WriteCloser
	Sync() error
}

// replace makes data the journal's contents. An order of steps to keep: data
// that is renamed before it is synced can come out of a crash empty, and a
// rename that is not synced can come out undone.
func replace(d disk, data []byte) (err error) {
	f, err := d.openTemp()
	if err != nil {
		return err
	}
	if err := fill(f, data); err != nil {
		// The room it takes is what a full disk lacks.
		return errors.Join(err, d.removeTemp())
	}
	if err := d.rename(); err != nil {
		return errors.Join(err, d.removeTemp())
	}
	return d.syncDir()
}

// fill writes, syncs and closes f.
func fill(f tempFile, data []byte) error {
	_, err := f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// realDisk works through the directory's handle: never through a path, which
// may lead elsewhere by now.
type realDisk struct {
	root *os.Root
	dir  *os.File
	name string // of the journal
}

func (d *realDisk) read() ([]byte, error) {
	// A pipe in the journal's place would block the open.
	if info, err := d.root.Lstat(d.name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, &TornError{Reason: fmt.Sprintf("it is no regular file but %s", info.Mode().Type())}
	}
	f, err := d.root.Open(d.name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxBytes+1))
	if err != nil {
		return nil, err
	}
	return data, nil
}

func (d *realDisk) openTemp() (tempFile, error) {
	// What a crash left behind is nobody's: the lock is ours.
	if err := d.removeTemp(); err != nil {
		return nil, err
	}
	f, err := d.root.OpenFile(d.name+tempSuffix, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	return f, nil
}

func (d *realDisk) rename() error { return d.root.Rename(d.name+tempSuffix, d.name) }

func (d *realDisk) removeTemp() error {
	if err := d.root.Remove(d.name + tempSuffix); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func (d *realDisk) syncDir() error { return d.dir.Sync() }

// advice tells the operator what to do about a failed write.
func advice(err error) string {
	switch {
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		return "the disk is full: free space on it"
	case errors.Is(err, syscall.EFBIG):
		return "a limit on the size of files is in the way: raise it"
	case errors.Is(err, syscall.EROFS):
		return "the file system is read-only: check its disk and mount it for writing"
	case errors.Is(err, fs.ErrPermission):
		return "give the daemon's user the right to write there"
	default:
		return "check the disk"
	}
}
