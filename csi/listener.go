//go:build linux

package csi

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
)

// listener is a socket that takes the place of the one that another driver left, or still has. An
// update starts the new driver before it ends the old one, and kubelet has to find either.
type listener struct {
	*net.UnixListener
	path string
	file os.FileInfo
}

// socketPath reads an address: an absolute path, or unix:// and one.
func socketPath(address string) (string, error) {
	path := strings.TrimPrefix(address, "unix://")
	if !filepath.IsAbs(path) || strings.ContainsRune(path, 0) {
		return "", fmt.Errorf("%q is no socket of the driver: give an absolute path, or unix:// and one", address)
	}
	return filepath.Clean(path), nil
}

// listen makes the socket under a hidden name, which kubelet passes over, and renames it: its place
// is never empty. What is no socket there is left alone.
func listen(address string) (*listener, error) {
	path, err := socketPath(address)
	if err != nil {
		return nil, err
	}
	switch info, err := os.Lstat(path); {
	case err == nil && info.Mode().Type() != fs.ModeSocket:
		return nil, fmt.Errorf("%s is no socket, and is left alone: remove it, or name another", path)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("cannot look at the driver's socket: %w", err)
	}
	hidden, err := os.MkdirTemp(filepath.Dir(path), ".s")
	if err != nil {
		return nil, fmt.Errorf("cannot make the driver's socket %s: %w", path, err)
	}
	defer os.RemoveAll(hidden) // empty by then
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(hidden, "s"), Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("cannot listen on the driver's socket %s: %w", path, err)
	}
	l.SetUnlinkOnClose(false)
	info, err := os.Lstat(filepath.Join(hidden, "s"))
	if err == nil {
		err = os.Chmod(filepath.Join(hidden, "s"), 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(hidden, "s"), path)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("cannot put the driver's socket at %s: %w", path, err), l.Close())
	}
	return &listener{l, path, info}, nil
}

// remove removes the socket, unless another driver's has taken its place.
func (l *listener) remove() {
	_ = l.Close()
	if info, err := os.Lstat(l.path); err == nil && os.SameFile(info, l.file) {
		_ = os.Remove(l.path)
	}
}
