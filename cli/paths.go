package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"

	"github.com/flakeward/flakeward/daemon/socketfile"
)

// paths are where a daemon keeps its things unless it is told otherwise.
type paths struct {
	socket, coord string // coord is the coordinator's directory
	// shared: the socket's directory lies in one where everyone may make things.
	shared bool
}

// defaultPaths returns the paths for a user. Root's are those of the Filesystem
// Hierarchy Standard 3.0 (3.15 /run, 5.8 /var/lib); those of anyone else follow
// the XDG Base Directory Specification 0.8. Without XDG_RUNTIME_DIR the socket
// goes below temp, into a directory that carries the user's number.
func defaultPaths(uid int, getenv func(string) string, home, temp string) paths {
	if uid == 0 {
		return paths{socket: "/run/flakeward/flakeward.sock", coord: "/var/lib/flakeward"}
	}
	runtime, shared := filepath.Join(temp, "flakeward-"+strconv.Itoa(uid)), true
	// The specification wants relative paths to be ignored.
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		runtime, shared = filepath.Join(dir, "flakeward"), false
	}
	state := filepath.Join(home, ".local", "state", "flakeward")
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		state = filepath.Join(dir, "flakeward")
	} else if !filepath.IsAbs(home) {
		state = "" // better to ask for --coord than to write where nobody looks
	}
	return paths{socket: filepath.Join(runtime, "flakeward.sock"), coord: state, shared: shared}
}

// exposed reports whether socket is the default one and its directory's name could
// have been taken by another user before, who then hands out IDs of his own.
func (p paths) exposed(socket string) bool {
	return p.shared && filepath.Clean(socket) == p.socket
}

// makeDir makes the directory of an exposed socket, for this user alone. It is
// an error if the directory is there and not safe.
func (p paths) makeDir(socket string) error {
	if !p.exposed(socket) {
		return nil
	}
	return socketfile.MakeOwnDir(filepath.Dir(p.socket), os.Geteuid())
}

// checkDir is an error if another user may have put an exposed socket there.
func (p paths) checkDir(socket string) error {
	if !p.exposed(socket) {
		return nil
	}
	return socketfile.CheckOwnDir(filepath.Dir(p.socket), os.Geteuid())
}

// coordinator is the URL of the coordinator's directory; empty: there is no default.
func (p paths) coordinator() string {
	if p.coord == "" {
		return ""
	}
	return "dir:" + p.coord
}

// makeCoord makes what the default directory of the coordinator lies in: it may be the first there.
func (p paths) makeCoord(url string) error {
	if url != p.coordinator() {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(p.coord), 0o700); err != nil {
		return fmt.Errorf("cannot make the directory for the coordinator's: %w: name another with --coord dir:PATH", err)
	}
	return nil
}

func ownPaths() paths {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return defaultPaths(os.Getuid(), os.Getenv, home, os.TempDir())
}
