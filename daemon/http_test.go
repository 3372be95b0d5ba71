package daemon_test

import (
	"net/http"
	"testing"

	"github.com/flakeward/flakeward/daemon/daemontest"
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
