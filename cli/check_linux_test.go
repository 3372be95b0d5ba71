package cli

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// Where this user may not write, a start would be refused, and so says the check.
func TestCheckFindsWhereThisUserMayNotWrite(t *testing.T) {
	dir := sockettest.Dir(t)
	must.Do(t, os.Chmod(dir, 0o755))
	shut := filepath.Join(dir, "shut")
	must.Do(t, os.Mkdir(shut, 0o555))
	sockettest.AsNobody(t, func() {
		_, err := checks(t, "--socket", filepath.Join(shut, "new", "s"), "--coord", "dir:"+filepath.Join(shut, "coord"), "--log-file", filepath.Join(shut, "log"))
		for _, part := range []string{"cannot make the socket", "--socket", "cannot read and write there", "--coord", "--log-file"} {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%v does not name %q", err, part)
			}
		}
		if ExitCode(err) != ExitFailed {
			t.Errorf("it ends with %d", ExitCode(err))
		}
	})
}

// A socket that systemd has made, or that is handed over, may lie where this user can make none.
func TestCheckLetsASocketBeThatIsThere(t *testing.T) {
	dir := sockettest.Dir(t)
	must.Do(t, os.Chmod(dir, 0o755))
	l := must.Get(net.Listen("unix", filepath.Join(dir, "s")))(t)
	defer l.Close()
	sockettest.AsNobody(t, func() {
		_, err := checks(t, "--socket", filepath.Join(dir, "s"), "--coord", "dir:"+filepath.Join(dir, "coord"))
		if err != nil && strings.Contains(err.Error(), "socket") {
			t.Errorf("with a socket: %v", err)
		}
	})
}

// Who may not ask the running daemon hears who may.
func TestTakeoverTellsAnotherUserWhoMayAsk(t *testing.T) {
	dir := sockettest.Dir(t)
	socket := filepath.Join(dir, "s")
	runDaemon(t, "--socket", socket, "--coord", "dir:"+filepath.Join(dir, "coord"))
	must.Do(t, os.Chmod(dir, 0o755))
	if os.Getuid() != 0 { // then all that is the user's own is open to it
		must.Do(t, os.Chmod(socket+".takeover", 0))
	}
	sockettest.AsNobody(t, func() {
		if _, err := takeover.Ask(t.Context(), socket, "", takeover.Settings{}); err == nil || !strings.Contains(err.Error(), "ask as its user") {
			t.Errorf("another user hears %v", err)
		}
	})
}
