package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// measure runs a daemon, has another process abuse it, and asks it for IDs meanwhile.
func (a abuse) measure(ctx context.Context, binary string, memory int64, lasts time.Duration, uid int) (f finding, err error) {
	dir, err := os.MkdirTemp("", "flakeward-abuse-")
	if err != nil {
		return f, err
	}
	defer os.RemoveAll(dir)                      //nolint:errcheck // a directory for temporary files
	if err := os.Chmod(dir, 0o755); err != nil { //nolint:gosec // the abuser is another user
		return f, err
	}
	socket := filepath.Join(dir, "s")
	args := append([]string{binary, "daemon", "--socket", socket, "--state-dir", filepath.Join(dir, "state"),
		"--coord=embedded:", fmt.Sprintf("--memory=%dMiB", memory)}, a.flags...)
	if a.descriptors > 0 {
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, a.descriptors), "sh"}, args...)
	}
	daemon := exec.CommandContext(ctx, args[0], args[1:]...)
	var log bytes.Buffer
	daemon.Stderr = &log
	if err := daemon.Start(); err != nil {
		return f, err
	}
	ended := make(chan error, 1)
	go func() { ended <- daemon.Wait() }()
	c, err := connect(ctx, socket)
	if err != nil {
		_ = daemon.Process.Kill()
		return f, fmt.Errorf("%w: %w", err, <-ended)
	}
	defer c.Close() //nolint:errcheck // nothing is written that could be lost

	abusing, enough := context.WithTimeout(ctx, lasts)
	defer enough()
	abuser := exec.Command(os.Args[0], "-as", a.name, "-socket", socket, "-uid", strconv.Itoa(uid))
	abuser.Stderr = os.Stderr
	if err := abuser.Start(); err != nil {
		return f, err
	}
	f.neighbour(abusing, c)
	f.status(ctx, binary, socket)
	f.limits = limits(c)
	f.peak, err = peak(daemon.Process.Pid)
	_ = abuser.Process.Signal(os.Interrupt)
	_ = abuser.Wait()
	_ = daemon.Process.Signal(syscall.SIGTERM)
	if e := <-ended; e != nil {
		f.wrong += fmt.Sprintf(" the daemon ended with %v", e)
	}
	f.logLines = strings.Count(log.String(), "\n")
	if strings.Contains(log.String(), "too many open files") {
		f.wrong += " too many open files"
	}
	if most := 25 + 2*int(lasts/time.Second); f.logLines > most {
		f.wrong += fmt.Sprintf(" %d lines of log:\n%s", f.logLines, log.String()[:2000])
	}
	return f, err
}

// connect waits until the daemon issues.
func connect(ctx context.Context, socket string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	var dialer net.Dialer
	for {
		if c, err := dialer.DialContext(ctx, "unix", socket); err == nil {
			if ask(c) == nil {
				return c, nil
			}
			_ = c.Close()
		}
		if ctx.Err() != nil {
			return nil, fmt.Errorf("the daemon does not issue")
		}
		pause(ctx, 10*time.Millisecond)
	}
}

// ask asks for one ID.
func ask(c net.Conn) error {
	if err := c.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		return err
	}
	if _, err := c.Write([]byte("NEXT\r\n")); err != nil {
		return err
	}
	var reply [512]byte
	n, err := c.Read(reply[:])
	if err == nil && reply[0] != ':' {
		err = fmt.Errorf("%s", reply[:n])
	}
	return err
}

// neighbour asks for an ID each millisecond.
func (f *finding) neighbour(ctx context.Context, c net.Conn) {
	for ctx.Err() == nil {
		begun := time.Now()
		if err := ask(c); err != nil {
			f.refused++
			f.wrong += " " + err.Error()
			return
		}
		f.latency = append(f.latency, time.Since(begun))
		pause(ctx, time.Millisecond)
	}
}

// status has the program ask the daemon, as a health check would.
func (f *finding) status(ctx context.Context, binary, socket string) {
	for _, command := range []string{"status", "next"} {
		if out, err := exec.CommandContext(ctx, binary, command, "--socket", socket).CombinedOutput(); err != nil {
			f.wrong += fmt.Sprintf(" %s: %v: %s", command, err, bytes.TrimSpace(out))
		}
	}
}

// limits is what INFO says that is not 0.
func limits(c net.Conn) string {
	if _, err := c.Write([]byte("INFO limits\r\n")); err != nil {
		return err.Error()
	}
	var said []string
	in := bufio.NewReader(c)
	for {
		line, err := in.ReadString('\n')
		key, value, ok := strings.Cut(strings.TrimSpace(line), ":")
		if ok && value != "0" && (strings.HasPrefix(key, "refused_") || key == "tenants" || key == "clients_memory") {
			said = append(said, strings.TrimPrefix(key, "refused_")+"="+value)
		}
		if err != nil || strings.HasPrefix(line, "refused_idle") {
			return strings.Join(said, " ")
		}
	}
}

// peak is the largest resident size that a process ever had, in bytes.
func peak(pid int) (n int64, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	_, err = fmt.Sscanf(rest, "%d", &n)
	return n << 10, err
}
