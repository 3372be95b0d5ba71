package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
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

// daemon is one that this program has started.
type daemon struct {
	process *os.Process
	socket  string
	dir     string
	log     bytes.Buffer
	ended   chan error
	c       net.Conn
}

// start runs a daemon, and connects once it issues.
func (o options) start(ctx context.Context, a abuse) (d *daemon, err error) {
	d = &daemon{ended: make(chan error, 1)}
	if d.dir, err = os.MkdirTemp("", "flakeward-abuse-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(d.dir, 0o755); err != nil { //nolint:gosec // the abuser is another user
		return nil, err
	}
	d.socket = filepath.Join(d.dir, "s")
	args := append([]string{o.binary, "daemon", "--socket", d.socket, "--socket-mode=0666", "--state-dir", filepath.Join(d.dir, "state"),
		"--coord=embedded:", fmt.Sprintf("--memory=%dMiB", o.memory)}, a.flags...)
	if a.descriptors > 0 {
		args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, a.descriptors), "sh"}, args...)
	}
	command := exec.CommandContext(ctx, args[0], args[1:]...)
	command.Stderr = &d.log
	if err := command.Start(); err != nil {
		return nil, err
	}
	d.process = command.Process
	go func() { d.ended <- command.Wait() }()
	if d.c, err = connect(ctx, d.socket); err != nil {
		_ = d.process.Kill()
		return nil, fmt.Errorf("%w: %w: %s", err, <-d.ended, d.log.String())
	}
	return d, nil
}

// stop ends it.
func (d *daemon) stop() error {
	_ = d.c.Close()
	_ = d.process.Signal(syscall.SIGTERM)
	err := <-d.ended
	return errors.Join(err, os.RemoveAll(d.dir))
}

// measure runs a daemon, has another process abuse it, and others ask it for IDs meanwhile.
func (o options) measure(ctx context.Context, a abuse) (f finding, err error) {
	apart, err := o.start(ctx, abuse{})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, apart.stop()) }()
	d, err := o.start(ctx, a)
	if err != nil {
		return f, err
	}
	var results []func() (seen, error)
	for _, n := range []struct {
		of  *daemon
		uid int
	}{{d, 0}, {d, o.uid}, {apart, 0}} {
		result, err := startNeighbour(ctx, n.of.socket, n.uid, o.lasts)
		if err != nil {
			return f, err
		}
		results = append(results, result)
	}
	abuser := exec.CommandContext(ctx, os.Args[0], "-as", a.name, "-socket", d.socket, "-uid", strconv.Itoa(o.uid))
	abuser.Cancel = func() error { return abuser.Process.Signal(os.Interrupt) }
	abuser.Stderr = os.Stderr
	if err := abuser.Start(); err != nil {
		return f, err
	}
	for i, to := range []*seen{&f.another, &f.same, &f.apart} {
		if *to, err = results[i](); err != nil {
			return f, err
		}
	}
	f.status(ctx, o.binary, d.socket)
	f.limits = limits(d.c)
	f.peak, err = peak(d.process.Pid)
	_ = abuser.Process.Signal(os.Interrupt)
	_ = abuser.Wait()
	if e := d.stop(); e != nil {
		f.wrong += fmt.Sprintf(" the daemon ended with %v", e)
	}
	log := d.log.String()
	f.logLines = strings.Count(log, "\n")
	for line := range strings.Lines(log) {
		if strings.Contains(line, "too many open files") {
			f.wrong += " too many open files"
			fmt.Fprint(os.Stderr, line)
		}
	}
	if most := 25 + 2*int(o.lasts/time.Second); f.logLines > most {
		f.wrong += fmt.Sprintf(" %d lines of log:\n%s", f.logLines, log[:2000])
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
