package main

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
)

// filler is the file that uses up a disk.
const filler = "filler"

// fillDisk uses up the disk that dir is on, to the last byte, with a file in dir.
func fillDisk(dir string) (err error) {
	f, err := os.Create(filepath.Join(dir, filler))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	for piece := make([]byte, 1<<20); len(piece) > 0; {
		_, err := f.Write(piece)
		switch {
		case errors.Is(err, syscall.ENOSPC):
			piece = piece[:len(piece)/2]
		case err != nil:
			return err
		}
	}
	return nil
}

// freeDisk gives back what fillDisk took.
func freeDisk(dir string) error { return os.Remove(filepath.Join(dir, filler)) }
