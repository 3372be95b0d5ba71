//go:build e2e

package packages

import (
	"strconv"
	"strings"
)

// reloads has another process take over twice, each of which systemd watches.
func reloads(c *container) {
	c.Helper()
	_, since, _ := strings.Cut(c.do("journalctl", "--no-pager", "--lines=0", "--show-cursor"), "cursor: ")
	c.dropIn(`WatchdogSec=1\nTimeoutAbortSec=1`)
	c.do("systemctl", "restart", "flakeward")
	restarts, l := c.property("NRestarts"), c.load()
	l.more(c)
	for range 2 {
		pid := c.reload()
		c.until("the replaced process has ended", func() bool { _, err := c.try("test", "-d", "/proc/"+pid); return err != nil })
		l.more(c)
		for range 2 {
			fed := c.fed()
			c.until("the watchdog is fed", func() bool { return c.fed() > fed })
		}
	}
	l.stop("2 reloads")
	l.unbroken()
	if now := c.property("NRestarts"); now != restarts {
		c.Errorf("systemd has started the daemon %s times, and %s before", now, restarts)
	}
	if text := c.property("StatusText"); text != "issuing IDs" {
		c.Errorf("the status is %q", text)
	}
	if log := c.do("journalctl", "--no-pager", "--after-cursor="+since); strings.Contains(log, "not our child") || strings.Contains(log, "reception only permitted") {
		c.Errorf("systemd takes who has taken over for a stranger:\n%s", log)
	}
	c.dropIn("")
	c.do("systemctl", "restart", "flakeward")
}

// reload waits until another process has taken over, and returns which it was before.
func (c *container) reload() (before string) {
	c.Helper()
	before = c.property("MainPID")
	c.do("systemctl", "reload", "flakeward")
	c.until("another process has taken over", func() bool { return c.property("MainPID") != before && c.active() })
	return before
}

// fed is when the watchdog was fed last.
func (c *container) fed() int {
	c.Helper()
	at, err := strconv.Atoi(c.property("WatchdogTimestampMonotonic"))
	if err != nil {
		c.Fatal(err)
	}
	return at
}

// failedReloads has reloads fail by the program and by its settings.
func failedReloads(c *container) {
	c.Helper()
	const program, settings = "/usr/bin/flakeward", "/etc/flakeward/flakeward.yaml"
	l := c.load()
	l.more(c)
	pid := c.property("MainPID")
	for i, broken := range []struct{ how, file, script, reason string }{
		{"a program that cannot run", program, "echo none >" + program, "exec format error"},
		{"a program that fails", program, `printf '#!/bin/sh\ncase "$*" in *--takeover*) echo the program is broken >&2; exit 1;; esac\nexec ` + program +
			`.whole "$@"\n' >` + program, "the program is broken"},
		{"wrong settings", settings, "echo 'no-such-setting: 1' >>" + settings, "no-such-setting"},
		{"settings that do not fit", settings, "sed -i 's/^layout: flakeward$/layout: twitter/' " + settings, "the running daemon's layout is"},
	} {
		c.do("sh", "-c", "mv "+broken.file+" "+broken.file+".whole && cp -p "+broken.file+".whole "+broken.file+" && "+broken.script)
		c.do("systemctl", "reload", "flakeward")
		c.until("the log has the reason: "+broken.reason, func() bool {
			log, _ := c.try("journalctl", "--no-pager", "--unit", "flakeward")
			return strings.Contains(log, broken.reason) && strings.Count(log, "nobody has taken over; going on") == i+1 && c.active()
		})
		if now := c.property("MainPID"); now != pid {
			c.Errorf("%s: the main process is %s, and was %s", broken.how, now, pid)
		}
		c.do("mv", broken.file+".whole", broken.file)
	}
	l.stop("4 reloads that failed")
	l.unbroken()
	c.reload()
}
