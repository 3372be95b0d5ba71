package cli

import (
	"os"
	"path/filepath"
	"strconv"

	"github.com/flakeward/flakeward/daemon/socketfile"
)

// paths are where a daemon keeps its things unless it is told otherwise.
type paths struct {
	socket, stateDir string
	// shared: the socket's directory lies in one where everyone may make things.
	shared bool
}

// defaultPaths returns the paths for a user. Root's are those of the Filesystem
// Hierarchy Standard 3.0 (3.15 /run, 5.8 /var/lib); those of anyone else follow
// the XDG Base Directory Specification 0.8. Without XDG_RUNTIME_DIR the socket
// goes below temp, into a directory that carries the user's number.
func defaultPaths(uid int, getenv func(string) string, home, temp string) paths {
	if uid == 0 {
		return paths{socket: "/run/flakeward/flakeward.sock", stateDir: "/var/lib/flakeward"}
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
		state = "" // better to ask for --state-dir than to write where nobody looks
	}
	return paths{socket: filepath.Join(runtime, "flakeward.sock"), stateDir: state, shared: shared}
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

func ownPaths() paths {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return defaultPaths(os.Getuid(), os.Getenv, home, os.TempDir())
}
