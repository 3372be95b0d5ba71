//go:build e2e

package packages

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var dist = flag.String("dist", "", "the directory with the packages; DIR-again has them built once more, and DIR/next the version after")

// mostExposed is the highest exposure that `systemd-analyze security` may find; a bare unit's is
// 9.6.
const mostExposed = 1.5

func deb(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "flakeward_*.deb"))
	if err != nil || len(found) != 1 {
		t.Fatalf("the packages in %q: %v, %v; want one for Debian: run e2e/packages/run.sh", dir, found, err)
	}
	return found[0]
}

func TestTwoBuildsAreEqual(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(*dist, "flakeward*"))
	if err != nil || len(files) < 5 {
		t.Fatalf("%q has %v, %v", *dist, files, err)
	}
	for _, path := range files {
		one, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		two, err := os.ReadFile(filepath.Join(*dist+"-again", filepath.Base(path)))
		if err != nil || !bytes.Equal(one, two) {
			t.Errorf("%s differs from that of the second build (%v)", filepath.Base(path), err)
		}
	}
}

func TestLintianFindsNoError(t *testing.T) {
	out, err := exec.Command("lintian", "--allow-root", "--fail-on", "error", deb(t, *dist)).CombinedOutput()
	t.Logf("%s", out)
	if err != nil {
		t.Errorf("lintian: %v", err)
	}
}

// One system from the package's installation to its purge, in which systemd runs the daemon.
func TestAPackagesLife(t *testing.T) {
	c := startContainer(t)
	for from, to := range map[string]string{deb(t, *dist): "/one.deb", deb(t, filepath.Join(*dist, "next")): "/two.deb"} {
		if out, err := exec.Command("docker", "cp", from, c.name+":"+to).CombinedOutput(); err != nil {
			t.Fatalf("docker cp: %v\n%s", err, out)
		}
	}
	step := func(name string, do func(t *container)) {
		if !t.Failed() {
			t.Run(name, func(t *testing.T) { do(&container{t, c.name, c.run}) })
		}
	}
	socket := filepath.Join(c.run, "flakeward.sock")
	step("installed, it serves", func(c *container) {
		c.do("dpkg", "--install", "/one.deb")
		c.until("the service is active", c.active)
		if _, err := ask(socket); err != nil {
			c.Error(err)
		}
		if owner := c.do("stat", "--format", "%U:%G %a", "/var/lib/flakeward"); owner != "flakeward:flakeward 700" {
			c.Errorf("the directory is %s", owner)
		}
		if text := c.property("StatusText"); text != "issuing IDs" {
			c.Errorf("the status is %q", text)
		}
	})
	step("it warns of nothing, by the journal's priorities", func(c *container) {
		if text := c.do("journalctl", "--no-pager", "--quiet", "--unit", "flakeward", "--priority", "warning"); text != "" {
			c.Errorf("a default installation warns:\n%s", text)
		}
		text := c.do("sh", "-c", "journalctl --no-pager --output=cat --priority info..info _PID=$(systemctl show -P MainPID flakeward)")
		if !strings.Contains(text, "ready: socket=") || regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\dT`).MatchString(text) {
			c.Errorf("the entries of the daemon have no level, or a time of their own:\n%s", text)
		}
	})
	step("the unit is confined", func(c *container) {
		out := c.do("systemd-analyze", "security", "--offline=true", "--no-pager", "/lib/systemd/system/flakeward.service")
		m := regexp.MustCompile(`Overall exposure level for \S+: ([0-9.]+)`).FindStringSubmatch(out)
		if m == nil {
			c.Fatal(out)
		}
		if level, err := strconv.ParseFloat(m[1], 64); err != nil || level > mostExposed {
			c.Errorf("the exposure is %s, at most %v is wanted", m[1], mostExposed)
		}
		c.Log(m[0])
	})
	step("it is not ready before the first ID can be had", func(c *container) {
		c.dropIn("Environment=FLAKEWARD_COORD=etcd://127.0.0.1:1")
		c.do("systemctl", "stop", "flakeward")
		c.do("find", "/var/lib/flakeward", "-mindepth", "1", "-delete")
		c.do("systemctl", "start", "--no-block", "flakeward")
		c.until("the daemon says why it waits", func() bool { return strings.Contains(c.property("StatusText"), "waiting for the coordinator") })
		if state := c.property("ActiveState"); state != "activating" {
			c.Errorf("without a coordinator the service is %s", state)
		}
		c.do("systemctl", "stop", "flakeward")
		c.dropIn("")
		c.do("systemctl", "start", "flakeward")
		if _, err := ask(socket); err != nil {
			c.Errorf("the service is ready, and its first ID: %v", err)
		}
	})
	step("SIGHUP has it read certificates again", func(c *container) {
		c.do("systemctl", "kill", "--kill-whom=main", "--signal=HUP", "flakeward")
		c.until("the log says so", func() bool {
			log, _ := c.try("journalctl", "--no-pager", "--unit", "flakeward")
			return strings.Contains(log, "reloaded certificates and passwords") && c.active()
		})
	})
	step("a reload has another process take over, and nobody notices", reloads)
	step("a reload that fails leaves the daemon serving", failedReloads)
	step("killed while it hands over, the daemon is started again, and refuses no connection", killedReload)
	restarts := func(c *container) {
		l := c.load()
		l.more(c)
		for range 3 {
			pid := c.property("MainPID")
			c.do("systemctl", "kill", "--signal=KILL", "flakeward")
			c.until("another process serves", func() bool { return c.property("MainPID") != pid && c.active() })
			l.more(c)
			c.do("systemctl", "restart", "flakeward")
			l.more(c)
		}
		l.stop("3 kills and 3 restarts")
	}
	step("a crash and a restart refuse no connection", restarts)
	step("a daemon that aborts is started again", aborts)
	step("neither do they with the socket unit", func(c *container) {
		c.do("systemctl", "stop", "flakeward.service")
		if _, err := ask(socket); err == nil {
			c.Error("a stopped daemon answers")
		}
		c.do("systemctl", "start", "flakeward.socket")
		if c.active() {
			c.Error("the socket alone has started the daemon")
		}
		if _, err := ask(socket); err != nil {
			c.Errorf("the first client: %v", err)
		}
		restarts(c)
		reloads(c)
		killedReload(c)
	})
	step("a daemon that hangs is killed and started again", func(c *container) {
		c.dropIn(`WatchdogSec=1\nTimeoutAbortSec=1`)
		c.do("systemctl", "restart", "flakeward")
		c.reload() // who has taken over is watched as well
		l := c.load()
		l.more(c)
		pid := c.property("MainPID")
		c.do("systemctl", "kill", "--signal=STOP", "flakeward")
		c.until("another process serves", func() bool { return c.property("MainPID") != pid && c.active() })
		l.more(c)
		l.stop("a hang")
		if log := c.do("journalctl", "--no-pager", "--unit", "flakeward"); !strings.Contains(log, "Watchdog timeout") {
			c.Error("systemd knows of no watchdog timeout")
		}
		c.dropIn("")
	})
	step("upgraded under load, no request fails", func(c *container) {
		l := c.load()
		l.more(c)
		pid := c.property("MainPID")
		c.do("dpkg", "--install", "/two.deb")
		c.until("the new version serves", func() bool { return c.property("MainPID") != pid && c.active() })
		l.more(c)
		l.stop("an upgrade")
		l.unbroken()
		if version := c.do("flakeward", "version"); !strings.Contains(version, "0.1.1") {
			c.Errorf("the version is %s", version)
		}
	})
	step("to go back is an update like any other", func(c *container) {
		l := c.load()
		l.more(c)
		pid := c.property("MainPID")
		c.do("dpkg", "--install", "/one.deb")
		c.until("the earlier version serves", func() bool { return c.property("MainPID") != pid && c.active() })
		l.more(c)
		l.stop("a downgrade")
		l.unbroken()
	})
	step("removed, it keeps settings and state", func(c *container) {
		c.do("dpkg", "--remove", "flakeward")
		c.do("test", "-e", "/etc/flakeward/flakeward.yaml")
		c.do("test", "-e", "/var/lib/flakeward/cluster")
		c.do("test", "!", "-e", "/usr/bin/flakeward")
		if _, err := ask(socket); err == nil {
			c.Error("a removed daemon answers")
		}
	})
	step("purged, it leaves nothing", func(c *container) {
		c.do("dpkg", "--purge", "flakeward")
		left := c.do("sh", "-c", "find / -xdev -path /proc -prune -o -path /sys -prune -o -name '*flakeward*' -print | grep -v -e ^/var/log -e ^/run -e ^/var/lib/dpkg -e ^/var/lib/flakeward$ || true; ls -A /var/lib/flakeward")
		if left != "" {
			c.Errorf("these are left:\n%s", left)
		}
	})
}
