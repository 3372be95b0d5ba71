//go:build linux

// Package bind shows a directory at a second path by a bind mount that is read-only and has
// nosuid, nodev and noexec, and takes it away again. All it knows is in the mount table of this
// process, so that a process that starts anew sees what the one before it did.
package bind

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/moby/sys/mountinfo"
	"golang.org/x/sys/unix"
)

// restricted are the flags of all mounts that Show makes.
const restricted = unix.MS_RDONLY | unix.MS_NOSUID | unix.MS_NODEV | unix.MS_NOEXEC

// options are the names of these flags in the mount table.
var options = []string{"ro", "nosuid", "nodev", "noexec"}

// gone is what the kernel appends to the root of a mount whose directory was removed.
const gone = "//deleted"

// Mount is one line of the mount table.
type Mount struct {
	Path       string // where the mount is
	Root       string // which directory it shows, as a path in that directory's file system
	Restricted bool   // it has all of the options that Show sets
	Shared     bool   // mounts below Path pass to other mount namespaces
}

// All returns the mount table, in its order: of several mounts at one path the last is seen.
func All() ([]Mount, error) {
	table, err := mountinfo.GetMounts(nil)
	if err != nil {
		return nil, fmt.Errorf("cannot read the mount table: %w", err)
	}
	all := make([]Mount, 0, len(table))
	for _, m := range table {
		all = append(all, Mount{
			Path:       m.Mountpoint,
			Root:       strings.TrimSuffix(m.Root, gone),
			Restricted: has(m.Options, options...),
			Shared:     strings.Contains(m.Optional, "shared:"),
		})
	}
	return all, nil
}

// has reports whether a list, separated by commas, has all names.
func has(list string, names ...string) bool {
	there := strings.Split(list, ",")
	return !slices.ContainsFunc(names, func(name string) bool { return !slices.Contains(there, name) })
}

// Resolve returns path with the links of its directory resolved, as the mount table has it. The
// last element stays, link or not. A directory that is missing is fs.ErrNotExist.
func Resolve(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(filepath.Dir(path))
	return filepath.Join(dir, filepath.Base(path)), err
}

// At returns the mounts at a path that Resolve returned. The last one is seen.
func At(all []Mount, path string) (at []Mount) {
	for _, m := range all {
		if m.Path == path {
			at = append(at, m)
		}
	}
	return at
}

// Passes reports whether a mount made at a path, as Resolve returned it, is seen in the mount
// namespaces that share it. Otherwise this process alone would see it.
func Passes(all []Mount, path string) bool {
	var over Mount
	for _, m := range all {
		below := m.Path == "/" || path == m.Path || strings.HasPrefix(path, m.Path+"/")
		if below && len(m.Path) >= len(over.Path) {
			over = m
		}
	}
	return over.Shared
}

// Shown reports whether path shows the directory dir itself, and not one of that name which is
// gone.
func Shown(dir, path string) bool {
	want, err := os.Stat(dir)
	if err != nil {
		return false
	}
	got, err := os.Stat(path)
	return err == nil && os.SameFile(want, got)
}

// Show mounts dir at path, a directory. If it fails, nothing is mounted.
func Show(dir, path string) error {
	info, err := os.Lstat(path)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "mount", Path: path, Err: unix.ENOTDIR}
	}
	if err := unix.Mount(dir, path, "", unix.MS_BIND, ""); err != nil {
		return &fs.PathError{Op: "mount", Path: path, Err: err}
	}
	// The kernel takes the options of a bind mount only in a second step.
	if err := unix.Mount("", path, "", unix.MS_BIND|unix.MS_REMOUNT|restricted, ""); err != nil {
		return errors.Join(&fs.PathError{Op: "remount read-only", Path: path, Err: err}, Hide(path))
	}
	return nil
}

// Hide takes the mount away that is seen at path. Whoever is in it does not keep it from going.
func Hide(path string) error {
	if err := unix.Unmount(path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW); err != nil {
		return &fs.PathError{Op: "unmount", Path: path, Err: err}
	}
	return nil
}
