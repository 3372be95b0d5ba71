//go:build e2e

package packages

import (
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/process"
)

// killedReload has the main process killed after it has handed everything over, and before systemd
// hears who goes on. systemd then ends that process as well, and starts the daemon again.
func killedReload(c *container) {
	c.Helper()
	const program, stopAt = "/usr/bin/flakeward", "/run/flakeward/stop"
	drill, err := process.Build(c.Context(), c.TempDir())
	if err != nil {
		c.Fatal(err)
	}
	c.do("mv", program, program+".whole")
	if out, err := exec.Command("docker", "cp", drill, c.name+":"+program).CombinedOutput(); err != nil {
		c.Fatalf("docker cp: %v\n%s", err, out)
	}
	c.dropIn("Environment=" + fault.StopAt + "=" + stopAt)
	c.do("systemctl", "restart", "flakeward")
	l := c.load()
	l.more(c)
	for _, step := range []fault.Step{fault.RunningCommitted, fault.RunningLeft} {
		pid, restarts := c.property("MainPID"), c.property("NRestarts")
		c.do("sh", "-c", "printf "+string(step)+" >"+stopAt)
		c.do("systemctl", "reload", "--no-block", "flakeward")
		c.until("the process has handed over", func() bool {
			status, _ := c.try("cat", filepath.Join("/proc", pid, "status"))
			return strings.Contains(status, "State:\tT")
		})
		l.more(c) // from who goes on
		begun := time.Now()
		c.do("systemctl", "kill", "--kill-whom=main", "--signal=KILL", "flakeward")
		c.until("another process serves", func() bool { return c.property("MainPID") != pid && c.active() })
		c.Logf("FIGURE killed at %s: systemd calls the service active again after %v", step, time.Since(begun).Round(time.Millisecond))
		l.more(c)
		if now := c.property("NRestarts"); now == restarts {
			c.Errorf("killed at %s, systemd has not started the daemon again: the case is void", step)
		}
	}
	l.stop("2 reloads whose old process was killed")
	if log := c.do("journalctl", "--no-pager", "--unit", "flakeward"); strings.Contains(log, "State 'stop-sigterm' timed out") {
		c.Error("who had taken over did not end when systemd told it to")
	}
	c.dropIn("")
	c.do("mv", program+".whole", program)
	c.do("systemctl", "restart", "flakeward")
}

// aborts has the daemon end as by the watchdog's signal, or by a bug: Go's runtime says where it
// was, and must not end it with the status of settings that are wrong.
func aborts(c *container) {
	c.Helper()
	l := c.load()
	l.more(c)
	pid := c.property("MainPID")
	c.do("systemctl", "kill", "--kill-whom=main", "--signal=ABRT", "flakeward")
	c.until("another process serves", func() bool { return c.property("MainPID") != pid && c.active() })
	l.more(c)
	l.stop("an abort")
}
