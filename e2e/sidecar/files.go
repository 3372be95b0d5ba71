package main

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// filler is the file that uses up a disk.
const filler = "filler"

// fillDisk uses up the disk that dir is on, to the last byte, with a file in dir, and returns the
// file's size. It may be called again.
func fillDisk(dir string) (size int64, err error) {
	f, err := os.OpenFile(filepath.Join(dir, filler), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for piece := make([]byte, 1<<20); len(piece) > 0; {
		_, err := f.Write(piece)
		switch {
		case errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT):
			piece = piece[:len(piece)/2]
		case err != nil:
			return 0, err
		}
	}
	if err := f.Sync(); err != nil && !errors.Is(err, syscall.ENOSPC) {
		return 0, err
	}
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// freeDisk gives back what fillDisk took. It is no error if there is nothing.
func freeDisk(dir string) error {
	err := os.Remove(filepath.Join(dir, filler))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// cat writes what is in a file to w.
func cat(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	_, err = io.Copy(w, f)
	return err
}
