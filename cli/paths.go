package cli

import (
	"os"
	"path/filepath"
	"strconv"
)

// paths are where a daemon keeps its things unless it is told otherwise.
type paths struct{ socket, stateDir string }

// defaultPaths returns the paths for a user. Root's are those of the Filesystem
// Hierarchy Standard 3.0 (3.15 /run, 5.8 /var/lib); those of anyone else follow
// the XDG Base Directory Specification 0.8. Without XDG_RUNTIME_DIR the socket
// goes below temp, into a directory that carries the user's number.
func defaultPaths(uid int, getenv func(string) string, home, temp string) paths {
	if uid == 0 {
		return paths{socket: "/run/flakeward/flakeward.sock", stateDir: "/var/lib/flakeward"}
	}
	runtime := filepath.Join(temp, "flakeward-"+strconv.Itoa(uid))
	// The specification wants relative paths to be ignored.
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		runtime = filepath.Join(dir, "flakeward")
	}
	state := filepath.Join(home, ".local", "state", "flakeward")
	if dir := getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		state = filepath.Join(dir, "flakeward")
	} else if !filepath.IsAbs(home) {
		state = "" // better to ask for --state-dir than to write where nobody looks
	}
	return paths{socket: filepath.Join(runtime, "flakeward.sock"), stateDir: state}
}

func ownPaths() paths {
	home, err := os.UserHomeDir()
	if err != nil {
		home = ""
	}
	return defaultPaths(os.Getuid(), os.Getenv, home, os.TempDir())
}
