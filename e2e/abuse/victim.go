package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/usage"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
)

// daemon is one that this program has started.
type daemon struct {
	*process.Process
	pipe   *os.File // of the log, if nobody reads it
	socket string
	dir    string
	log    string // all that it logged, once it is stopped
	c      net.Conn
}

// logPipe is what becomes of a daemon's log.
type logPipe int

const (
	keptLog   logPipe = iota
	unreadLog         // a full pipe that nobody reads
	closedLog         // a pipe whose reader has gone
)

// pipeHolds is how many bytes a pipe takes that nobody reads: pipe(7).
const pipeHolds = 64 << 10

// start runs a daemon, and connects once it issues.
func (o options) start(ctx context.Context, a abuse) (*daemon, error) {
	return begin(ctx, a.log, func(dir, socket string) []string {
		args := append([]string{o.binary, "daemon", "--socket", socket, "--socket-mode=0666", "--coord=dir:" + filepath.Join(dir, "coord"),
			fmt.Sprintf("--memory=%dMiB", o.memory)}, a.flags...)
		if a.descriptors > 0 {
			args = append([]string{"sh", "-c", fmt.Sprintf(`ulimit -n %d; exec "$@"`, a.descriptors), "sh"}, args...)
		}
		return args
	})
}

// begin runs a server, and connects once it answers.
func begin(ctx context.Context, log logPipe, program func(dir, socket string) []string) (d *daemon, err error) {
	d = &daemon{}
	if d.dir, err = os.MkdirTemp("", "flakeward-abuse-"); err != nil {
		return nil, err
	}
	if err := os.Chmod(d.dir, 0o755); err != nil { // the abuser is another user
		return nil, err
	}
	d.socket = filepath.Join(d.dir, "s")
	what := process.Program{Command: program(d.dir, d.socket)}
	if log == keptLog {
		if what.Log, err = os.Create(d.logFile()); err != nil {
			return nil, err
		}
	} else {
		if d.pipe, what.Stderr, err = os.Pipe(); err != nil {
			return nil, err
		}
		defer what.Stderr.Close() // the daemon has its own
		if log == unreadLog {
			if _, err := what.Stderr.Write(make([]byte, pipeHolds)); err != nil {
				return nil, err
			}
		}
	}
	if d.Process, err = process.Start(ctx, what); err != nil {
		return nil, err
	}
	if log == closedLog {
		_ = d.pipe.Close() // it was not written to
	}
	if d.c, err = connect(ctx, d.socket); err != nil {
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, d.Tail()), d.Kill())
	}
	return d, nil
}

func (d *daemon) logFile() string { return filepath.Join(d.dir, "log") }

// stop ends it.
func (d *daemon) stop(ctx context.Context) error {
	_ = d.c.Close()
	if d.pipe != nil {
		_ = d.pipe.Close() // it may be closed
	}
	err := d.Stop(ctx)
	if d.pipe == nil {
		log, unread := os.ReadFile(d.logFile())
		d.log, err = string(log), errors.Join(err, unread)
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// measure runs a daemon, has another process abuse it, and others ask it for IDs meanwhile.
func (o options) measure(ctx context.Context, a abuse) (f finding, err error) {
	apart, err := o.start(ctx, abuse{})
	if err != nil {
		return f, err
	}
	defer func() { err = errors.Join(err, apart.stop(ctx)) }()
	d, err := o.start(ctx, a)
	if err != nil {
		return f, err
	}
	begun := time.Now()
	before, err := d.issued()
	if err != nil {
		return f, err
	}
	end, err := o.abuse(ctx, a, d, apart, &f.another, &f.same, &f.apart)
	if err != nil {
		return f, err
	}
	after, counted := d.issued()
	f.rate = float64(after-before) / time.Since(begun).Seconds()
	f.status(ctx, o.binary, d.socket)
	f.limits, err = d.limits()
	memory, e := usage.MemoryOf(d.PID())
	f.peak = memory.Peak
	err = errors.Join(counted, err, e)
	end()
	if e := d.stop(ctx); e != nil {
		f.wrong += fmt.Sprintf(" the daemon ended with %v", e)
	}
	f.logLines = strings.Count(d.log, "\n")
	for line := range strings.Lines(d.log) {
		if strings.Contains(line, "too many open files") {
			f.wrong += " too many open files"
			fmt.Fprint(os.Stderr, line)
		}
	}
	if most := 25 + 2*int(o.lasts/time.Second); f.logLines > most {
		f.wrong += fmt.Sprintf(" %d lines of log:\n%.2000s", f.logLines, d.log)
	}
	return f, err
}

// abuse has another process abuse a server, and returns once the clients have measured. What it
// returns ends the abuse.
func (o options) abuse(ctx context.Context, a abuse, d, apart *daemon, another, same, of *seen) (end func(), err error) {
	var results [3]func() (seen, error)
	for i, n := range []struct {
		of  *daemon
		uid int
	}{{d, 0}, {d, o.uid}, {apart, 0}} {
		if i == 1 && a.alone {
			results[i] = func() (seen, error) { return seen{}, nil }
			continue
		}
		if results[i], err = startNeighbour(ctx, n.of.socket, n.uid, a.anew, o.lasts); err != nil {
			return nil, err
		}
	}
	abuser := exec.CommandContext(ctx, os.Args[0], "-as", a.name, "-socket", d.socket, "-uid", strconv.Itoa(o.uid))
	abuser.Cancel = func() error { return abuser.Process.Signal(os.Interrupt) }
	abuser.Stderr = os.Stderr
	if err := abuser.Start(); err != nil {
		return nil, err
	}
	end = func() {
		_ = abuser.Process.Signal(os.Interrupt)
		_ = abuser.Wait()
	}
	for i, to := range []*seen{another, same, of} {
		if *to, err = results[i](); err != nil {
			end()
			return nil, err
		}
	}
	return end, nil
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

// info is what the daemon says of itself.
func (d *daemon) info() (map[string]string, error) {
	if _, err := d.c.Write(wire.AppendCommand(nil, "INFO")); err != nil {
		return nil, err
	}
	text, err := wire.NewReader(d.c).Bulk()
	return info.Parse(text).Map(), err
}

// issued is how many IDs the daemon has issued.
func (d *daemon) issued() (uint64, error) {
	said, err := d.info()
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(said["total_ids_issued"], 10, 64)
}

// limits is what INFO says of them that is not 0.
func (d *daemon) limits() (string, error) {
	said, err := d.info()
	var all []string
	for _, key := range slices.Sorted(maps.Keys(said)) {
		if (strings.HasPrefix(key, "refused_") || key == "clients_memory") && said[key] != "0" {
			all = append(all, strings.TrimPrefix(key, "refused_")+"="+said[key])
		}
	}
	return strings.Join(all, " "), err
}
