package cli

import (
	"fmt"
	"os"
	"path/filepath"
)

// paths are where a daemon keeps its things unless it is told otherwise.
type paths struct {
	socket, coord string // coord is the coordinator's directory; empty: there is no default
}

// defaultPaths returns the paths for a user. Root's are those of the Filesystem
// Hierarchy Standard 3.0 (3.15 /run, 5.8 /var/lib); those of anyone else follow
// the XDG Base Directory Specification 0.8. Without XDG_RUNTIME_DIR the socket
// goes where the state does: nobody else can put one of his own there.
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
		p = paths{socket: filepath.Join(state, "flakeward.sock"), coord: filepath.Join(state, "flakeward")}
	}
	// The specification wants relative paths to be ignored.
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		p.socket = filepath.Join(dir, "flakeward", "flakeward.sock")
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
	return defaultPaths(os.Getuid(), os.Getenv, home)
}
