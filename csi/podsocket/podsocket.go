//go:build linux

// Package podsocket makes the directories of pods below the one that the daemon watches, and
// removes them. Each has its own socket, which the daemon makes.
//
//	DIR/<id>/user      who asks: namespace/pod
//	DIR/<id>/target    where kubelet wants the socket shown; the daemon does not read it
//	DIR/<id>/socket/   what the pod sees; the daemon makes flakeward.sock in it
//
// A directory appears whole, by a rename, and goes whole. The file system is all the state there
// is.
package podsocket

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// socketName is the file in socket/ that applications connect to.
	socketName = "flakeward.sock"
	// hidden begins the names of directories that are not whole. The daemon passes them over.
	hidden = ".pod-"
	// idBytes are enough for no two volumes to meet.
	idBytes = 16
	// look is how often Wait looks whether the daemon listens.
	look = 20 * time.Millisecond
)

// longestPath is the longest path of a socket, in bytes.
const longestPath = len(unix.RawSockaddrUnix{}.Path) - 1

// ErrNoDaemon says that nobody listens on the socket of a directory.
var ErrNoDaemon = errors.New("the daemon does not listen on the pod's socket")

// ID returns the name of the directory for a volume, whatever the volume's name has in it.
func ID(volume string) string {
	sum := sha256.Sum256([]byte(volume))
	return hex.EncodeToString(sum[:idBytes])
}

// isID reports whether a directory may be one that ID named.
func isID(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == idBytes && strings.ToLower(name) == name
}

// Dir is the directory that the daemon watches.
type Dir string

// Open returns the directory at path, an absolute one, and makes it if it is missing, for whom its
// parent belongs to.
func Open(path string) (Dir, error) {
	d := Dir(filepath.Clean(path))
	longest := filepath.Join(d.Socket(ID("")), socketName)
	switch {
	case !filepath.IsAbs(path):
		return "", fmt.Errorf("the directory of the pods' sockets, %q, is no absolute path", path)
	case len(longest) > longestPath:
		return "", fmt.Errorf("the directory of the pods' sockets, %s, is too long: a socket in it has a path of %d bytes, and the system allows %d",
			path, len(longest), longestPath)
	}
	err := os.Mkdir(string(d), 0o700)
	if err == nil {
		err = own(string(d), filepath.Dir(string(d)))
	}
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("cannot make the directory of the pods' sockets: %w", err)
	}
	if _, err := os.ReadDir(string(d)); err != nil {
		return "", fmt.Errorf("cannot use the directory of the pods' sockets: %w", err)
	}
	return d, nil
}

// own gives path the owner and group of another.
func own(path, like string) error {
	var s unix.Stat_t
	if err := unix.Stat(like, &s); err != nil {
		return &fs.PathError{Op: "stat", Path: like, Err: err}
	}
	return os.Lchown(path, int(s.Uid), int(s.Gid))
}

// Entry is what a directory is for.
type Entry struct {
	User   string // namespace/pod
	Target string // where the socket is shown
}

func (d Dir) at(id string) string { return filepath.Join(string(d), id) }

// Socket returns the directory that the pod gets to see.
func (d Dir) Socket(id string) string { return filepath.Join(string(d), id, "socket") }

// Read returns what the directory is for. If it is missing, the error is fs.ErrNotExist; whatever
// is not readable in it is empty.
func (d Dir) Read(id string) (Entry, error) {
	if _, err := os.Stat(d.Socket(id)); err != nil {
		return Entry{}, err
	}
	user, _ := os.ReadFile(filepath.Join(d.at(id), "user"))
	target, _ := os.ReadFile(filepath.Join(d.at(id), "target"))
	return Entry{strings.TrimSuffix(string(user), "\n"), string(target)}, nil
}

// Make makes the directory id, which must not exist. Its files belong to the owner of the directory
// above, so that a daemon that is not root can make the socket.
func (d Dir) Make(id string, e Entry) error {
	whole, err := os.MkdirTemp(string(d), hidden+id+"-")
	if err != nil {
		return fmt.Errorf("cannot make a pod's directory: %w", err)
	}
	if err = fill(whole, string(d), e); err == nil {
		err = os.Rename(whole, d.at(id))
	}
	if err != nil {
		return errors.Join(fmt.Errorf("cannot make a pod's directory: %w", err), os.RemoveAll(whole))
	}
	return nil
}

// fill writes what belongs into a pod's directory. The owner is that of parent.
func fill(dir, parent string, e Entry) error {
	for _, file := range []struct{ name, text string }{{"user", e.User + "\n"}, {"target", e.Target}} {
		path := filepath.Join(dir, file.name)
		if err := errors.Join(os.WriteFile(path, []byte(file.text), 0o600), own(path, parent)); err != nil {
			return err
		}
	}
	socket := filepath.Join(dir, "socket")
	if err := os.Mkdir(socket, 0o755); err != nil {
		return err
	}
	// All users in the pod may pass, whatever the umask of this process.
	return errors.Join(os.Chmod(socket, 0o755), own(socket, parent), own(dir, parent))
}

// Remove removes the directory id with all that is in it. That it is missing is no error.
func (d Dir) Remove(id string) error {
	away, err := os.MkdirTemp(string(d), hidden+"gone-")
	if err != nil {
		return fmt.Errorf("cannot remove a pod's directory: %w", err)
	}
	// The rename takes it from the daemon's sight at once.
	if err = os.Rename(d.at(id), filepath.Join(away, id)); errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if err = errors.Join(err, os.RemoveAll(away)); err != nil {
		return fmt.Errorf("cannot remove a pod's directory: %w", err)
	}
	return nil
}

// Wait returns as soon as the daemon accepts a connection on the socket of id. If ctx ends before,
// the error is ErrNoDaemon.
func (d Dir) Wait(ctx context.Context, id string) error {
	path := filepath.Join(d.Socket(id), socketName)
	again := time.NewTicker(look)
	defer again.Stop()
	for {
		var dialer net.Dialer
		c, err := dialer.DialContext(ctx, "unix", path)
		if err == nil {
			_ = c.Close()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ErrNoDaemon, err)
		case <-again.C:
		}
	}
}

// Sweep removes directories of pods that are gone: last changed before a time, shown by no mount,
// and kubelet's directory for them is gone, too. shown reports the mounts. What else is in the
// directory stays. It returns the names of what was removed.
func (d Dir) Sweep(before time.Time, shown func(id string) bool) (removed []string, err error) {
	all, err := os.ReadDir(string(d))
	if err != nil {
		return nil, fmt.Errorf("cannot look for directories of pods that are gone: %w", err)
	}
	for _, entry := range all {
		name := entry.Name()
		half := strings.HasPrefix(name, hidden)
		info, infoErr := entry.Info()
		if !half && !isID(name) || infoErr != nil || !info.IsDir() || info.ModTime().After(before) {
			continue
		}
		if !half && (shown(name) || d.wanted(name)) {
			continue
		}
		if e := d.Remove(name); e != nil {
			err = errors.Join(err, e)
			continue
		}
		removed = append(removed, name)
	}
	return removed, err
}

// wanted reports whether there still is a place where the directory is to be shown. A directory
// that does not say where is not wanted.
func (d Dir) wanted(id string) bool {
	e, err := d.Read(id)
	if err != nil || e.Target == "" {
		return false
	}
	_, err = os.Lstat(e.Target)
	return !errors.Is(err, fs.ErrNotExist)
}
