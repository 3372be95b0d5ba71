//go:build e2e

package drills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// LoseDisk removes all that the daemon has on its host's disk: its socket, and the lock beside it. The
// daemon must not run.
func (h *Host) LoseDisk(ctx context.Context) error {
	if running, _, err := h.Running(ctx); err != nil || running {
		return cmp.Or(err, fmt.Errorf("%s must not run while its disk is lost: kill or stop it first", h.Name))
	}
	h.r.instant("disk lost", h.Name)
	return removeBelow(h.socketDir)
}

// exec runs the sidecar's program in the client's container, as the daemon's user, and returns what
// it prints.
func (h *Host) exec(ctx context.Context, args ...string) (string, error) {
	return h.r.project.Engine.Docker(ctx, append([]string{"exec", h.client, "/sidecar"}, args...)...)
}

// removeBelow removes all that is in a directory, and leaves it. It is no error if there is none.
func removeBelow(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
	}
	return err
}

// copyBelow copies the directory from, and all in it, to the directory to, which is made if missing,
// with modes and owners. What is there already is replaced if it has the name of something that is
// copied, and else left. Only files and directories are copied.
func copyBelow(from, to string) error {
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
