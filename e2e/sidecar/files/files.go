// Package files does to the files of containers what a shell would: within images that have none,
// and from without.
package files

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

// Fill uses up the disk that dir is on, to the last byte, with a file in dir, and returns the
// file's size. It may be called again.
func Fill(dir string) (size int64, err error) {
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

// Free gives back what Fill took. It is no error if there is nothing.
func Free(dir string) error {
	err := os.Remove(filepath.Join(dir, filler))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Remove removes all that is in the directories, and leaves them. It is no error if there is no
// such directory.
func Remove(dirs ...string) error {
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		for _, e := range entries {
			if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
				return err
			}
		}
	}
	return nil
}

// Copy copies the directory from, and all in it, to the directory to, which is made if missing,
// with modes and owners. What is there already is replaced if it has the name of something that is
// copied, and else left. Only files and directories are copied.
func Copy(from, to string) error {
	return filepath.WalkDir(from, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := e.Info()
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		switch {
		case info.IsDir():
			err = os.MkdirAll(target, 0o700)
		case info.Mode().IsRegular():
			err = copyFile(path, target)
		default:
			return nil
		}
		if err != nil {
			return err
		}
		return like(target, info)
	})
}

func copyFile(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close() // it was only read
	if err := os.Remove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}

// like gives a file owner and mode of another; a change of owner may take bits of the mode away, so
// that comes first.
func like(path string, info fs.FileInfo) error {
	uid, gid := owner(info)
	if err := os.Chown(path, uid, gid); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode()&(fs.ModePerm|fs.ModeSetuid|fs.ModeSetgid|fs.ModeSticky))
}

// owner is a file's user and group; -1, which changes nothing, where there is no such thing.
func owner(info fs.FileInfo) (uid, gid int) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok {
		return int(stat.Uid), int(stat.Gid)
	}
	return -1, -1
}

// Cat writes what is in a file to w.
func Cat(w io.Writer, path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close() // it was only read
	_, err = io.Copy(w, f)
	return err
}
