package daemon_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/daemontest"
	"github.com/flakeward/flakeward/internal/certtest"
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

// A daemon whose password is wrong says so once and tries on; it serves when that has
// been set right at the servers.
func TestWrongPasswordIsMended(t *testing.T) {
	ca := certtest.New(t, "ca")
	etcd := etcdtest.Start(t, etcdtest.Options{TLS: ca.Server(), ClientTLS: ca.ClientConfig(), RootPassword: "geheim"})
	etcd.AddUser("u", "another", "/ids/")
	file := filepath.Join(t.TempDir(), "password")
	must.Do(t, os.WriteFile(file, []byte("geheim\n"), 0o600))
	config := config(dir(t))
	config.Cluster.Coord, config.Cluster.User, config.Cluster.PasswordFile, config.Cluster.TLS.CA = etcd.URL("ids"), "u", file, ca.File
	found := make(chan *daemon.Daemon, 1)
	r := launchBy(t, config, scraped(found))
	d := <-found
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	tries := `flakeward_coordinator_calls_total{call="join",outcome="error"}`
	for again := time.NewTicker(10 * time.Millisecond); ; <-again.C {
		_, _, values := scrape(d)
		if n, _ := strconv.Atoi(values[tries]); n > 2 {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("the password was not tried again:\n%s", r.log)
		}
	}
	must.Get(etcd.Client().UserChangePassword(t.Context(), "u", "geheim"))(t)
	daemontest.Create(t, config)
	r.UntilReady()
	told := 0
	for line := range strings.Lines(r.log.String()) {
		if strings.Contains(line, "[WARN]") && strings.Contains(line, "the password is wrong") {
			told++
		}
	}
	if told != 1 {
		t.Errorf("told %d times:\n%s", told, r.log)
	}
	if strings.Contains(r.log.String(), "geheim") {
		t.Errorf("the log shows the password:\n%s", r.log)
	}
}
