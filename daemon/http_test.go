package daemon_test

import (
	"bufio"
	"net/http"
	"os/exec"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/need"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// overSocket is a client of the daemon's socket.
func overSocket(t *testing.T, d *daemontest.Daemon) *http.Client {
	t.Helper()
	return sockettest.HTTP(t, d.Config.Socket.Path, false)
}

// get returns the status and the reply.
func get(t *testing.T, c *http.Client, path string, header ...string) (*http.Response, string) {
	t.Helper()
	return sockettest.Ask(t, c, http.MethodGet, "http://f"+path, header...)
}

func TestCurlAsItIs(t *testing.T) {
	curl := need.Program(t, "curl", "apt-get install curl")
	d := daemontest.Start(t, daemontest.Config(t.TempDir()))
	for path, want := range map[string]string{"/v1/ids?count=3": `{"ids":["`, "/v1/runs?count=5": `{"step":"1","runs":[{"first":"`, "/v1/nothing": `{"type":"urn:flakeward:unknown-path"`} {
		out, err := exec.Command(curl, "--silent", "--show-error", "--unix-socket", d.Config.Socket.Path, "http://f"+path).CombinedOutput()
		if err != nil || !strings.HasPrefix(string(out), want) {
			t.Errorf("%s: %s (%v)", path, out, err)
		}
	}
	out, err := exec.Command(curl, "--silent", "--unix-socket", d.Config.Socket.Path, "-H", "Accept: text/plain", "http://f/v1/ids?count=3", "http://f/v1/ids?count=2").Output()
	if lines := bufio.NewScanner(strings.NewReader(string(out))); err != nil || strings.Count(string(out), "\n") != 5 || !lines.Scan() {
		t.Errorf("%q (%v)", out, err)
	}
}
