package daemon_test

import (
	"strings"
	"testing"
)

// A configuration that cannot be read ends the daemon, and says which file it was: no
// server can set that right.
func TestUnreadableAccessEndsTheDaemon(t *testing.T) {
	c := config(dir(t))
	c.Cluster.Coord, c.Cluster.User, c.Cluster.PasswordFile = "etcd://127.0.0.1:1", "u", "/nowhere/password"
	if err := launch(t, c).End(); err == nil || !strings.Contains(err.Error(), "/nowhere/password") {
		t.Errorf("the daemon ended with %v, want an error with the file", err)
	}
}
