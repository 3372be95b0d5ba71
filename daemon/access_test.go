package daemon_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

// A configuration that cannot be read ends the daemon, and says which file it was: no
// server can set that right.
func TestUnreadableAccessEndsTheDaemon(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "empty")
	must.Do(t, os.WriteFile(empty, nil, 0o600))
	for name, c := range map[string]struct {
		set  func(*daemon.Cluster)
		want string
	}{
		"password": {func(c *daemon.Cluster) { c.User, c.PasswordFile = "u", "/nowhere/password" }, "/nowhere/password"},
		"empty":    {func(c *daemon.Cluster) { c.User, c.PasswordFile = "u", empty }, empty},
		"CA":       {func(c *daemon.Cluster) { c.TLS.CA = "/nowhere/ca.pem" }, "/nowhere/ca.pem"},
		"bad PEM":  {func(c *daemon.Cluster) { c.TLS.CA = empty }, empty},
	} {
		t.Run(name, func(t *testing.T) {
			config := config(dir(t))
			config.Cluster.Coord = "etcd://127.0.0.1:1"
			c.set(&config.Cluster)
			if err := launch(t, config).End(); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("the daemon ended with %v, want an error with %s", err, c.want)
			}
		})
	}
}
