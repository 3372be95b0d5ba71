package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// paths are where a daemon keeps its things unless it is told otherwise.
type paths struct {
	socket, coord string // coord is the coordinator's directory; empty: there is no default
	// private: the socket's directory is for this user alone, as the coordinator's is, whatever the
	// socket's mode.
	private bool
}

// defaultPaths returns the paths for a user. Root's are those of the Filesystem
// Hierarchy Standard 3.0 (3.15 /run, 5.8 /var/lib); those of anyone else follow
// the XDG Base Directory Specification 0.8. Without XDG_RUNTIME_DIR the socket
// goes beside the coordinator's directory: nobody else can put one of his own there.
func defaultPaths(uid int, getenv func(string) string, home string) paths {
	if uid == 0 {
		return paths{socket: "/run/flakeward/flakeward.sock", coord: "/var/lib/flakeward"}
	}
	var p paths
	state := filepath.Join(home, ".local", "state")
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		state = dir
	}
	if filepath.IsAbs(state) { // better to ask for --coord and --socket than to write where nobody looks
		p = paths{socket: filepath.Join(state, "flakeward-socket", "flakeward.sock"), coord: filepath.Join(state, "flakeward"), private: true}
	}
	// The specification wants relative paths to be ignored.
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		p.socket, p.private = filepath.Join(dir, "flakeward", "flakeward.sock"), false // in one that is
	}
	return p
}

// coordinator is the URL of the coordinator's directory; empty: there is no default.
func (p paths) coordinator() string {
	if p.coord == "" {
		return ""
	}
	return "dir:" + p.coord
}

// make makes the directories of those paths that are the defaults, as far as others do not: the one
// of the socket, and what that of the coordinator lies in.
func (p paths) make(socket, url string) error {
	if p.private && socket == p.socket {
		if err := os.MkdirAll(filepath.Dir(p.socket), 0o700); err != nil {
			return fmt.Errorf("cannot make the directory of the socket: %w: choose another path with --socket", err)
		}
	}
	if url == p.coordinator() {
		if err := os.MkdirAll(filepath.Dir(p.coord), 0o700); err != nil {
			return fmt.Errorf("cannot make the directory for the coordinator's: %w: name another with --coord dir:PATH", err)
		}
	}
	return nil
}

// firstMade is the URL, or, where it is the default, that of the first directory which make and the
// coordinator have to make.
func (p paths) firstMade(url string) string {
	if url != p.coordinator() {
		return url
	}
	first := p.coord
	for above := filepath.Dir(first); ; first, above = above, filepath.Dir(above) {
		if _, err := os.Stat(above); !errors.Is(err, fs.ErrNotExist) {
			return "dir:" + first
		}
	}
}

func ownPaths() paths {
	home, _ := os.UserHomeDir() // empty after an error
	return defaultPaths(os.Getuid(), os.Getenv, home)
}
