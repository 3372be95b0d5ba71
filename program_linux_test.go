package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// started is the program, as a daemon.
type started struct {
	*testing.T
	*exec.Cmd
	dir, socket string
}

// start starts the program's daemon with its log on stderr.
func start(t *testing.T, program string, stderr *os.File, args ...string) *started {
	t.Helper()
	dir := sockettest.Dir(t)
	d := &started{T: t, dir: dir, socket: filepath.Join(dir, "s")}
	d.Cmd = exec.Command(program, append([]string{
		"daemon", "--coord", "dir:" + filepath.Join(dir, "coord"), "--socket", d.socket,
	}, args...)...)
	d.Stderr, d.SysProcAttr = stderr, process.Orphanless()
	must.Do(t, d.Start())
	t.Cleanup(func() {
		if d.ProcessState == nil {
			_ = d.Process.Kill()
			_ = d.Wait()
		}
	})
	d.next(1)
	return d
}

// next takes IDs one by one, the first of them as soon as there are any.
func (d *started) next(n int) {
	d.Helper()
	ids := must.Get(client.Open(d.socket, client.Timeout(time.Minute)))(d) // a start on a busy machine
	defer ids.Close()
	for range n {
		must.Get(ids.Take(d.Context(), 1))(d)
	}
}

// dropped is what INFO says of the log.
func (d *started) dropped() uint64 {
	d.Helper()
	c := must.Get(net.Dial("unix", d.socket))(d)
	defer c.Close()
	must.Get(c.Write([]byte("INFO stats\r\n")))(d)
	for lines := bufio.NewScanner(c); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "log_dropped:"); ok {
			return must.Get(strconv.ParseUint(value, 10, 64))(d)
		}
	}
	d.Fatal("INFO has no log_dropped")
	return 0
}

func (d *started) signal(s os.Signal) {
	d.Helper()
	if err := d.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		d.Fatal(err)
	}
}

// end wants the program to end in order.
func (d *started) end() {
	d.Helper()
	if err := d.Wait(); err != nil {
		d.Errorf("the end: %v", err)
	}
}

// pipe is one whose writing end is full.
func pipe(t *testing.T) (reading, writing *os.File) {
	t.Helper()
	reading, writing, err := os.Pipe()
	must.Do(t, err)
	t.Cleanup(func() { reading.Close(); writing.Close() })
	fd := int(writing.Fd()) // which makes it block
	must.Do(t, unix.SetNonblock(fd, true))
	for err == nil {
		_, err = unix.Write(fd, make([]byte, 4096))
	}
	must.Do(t, unix.SetNonblock(fd, false))
	return reading, writing
}

func TestProgramOutlivesItsLogAndItsTerminal(t *testing.T) {
	program := must.Get(os.Executable())(t)

	t.Run("a log that nobody reads holds nobody up", func(t *testing.T) {
		_, full := pipe(t)
		d := start(t, program, full, "--log-level", "trace")
		d.next(1000)
		d.signal(syscall.SIGTERM)
		d.end()
	})

	t.Run("a log whose reader is gone is counted", func(t *testing.T) {
		reading, writing := pipe(t)
		reading.Close()
		d := start(t, program, writing)
		d.next(1000)
		if d.dropped() == 0 {
			t.Error("nothing is counted as dropped")
		}
		d.signal(syscall.SIGTERM)
		d.end()
	})

	t.Run("few descriptors and a loop of connects fill no log, and status answers", func(t *testing.T) {
		limited, log := filepath.Join(t.TempDir(), "limited"), filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(limited, []byte("#!/bin/sh\nulimit -n 128\nexec "+program+` "$@"`+"\n"), 0o700); err != nil { // it is run
			t.Fatal(err)
		}
		d := start(t, limited, nil, "--log-file", log)
		ctx, stop := context.WithCancel(t.Context())
		begun := time.Now()
		var clients sync.WaitGroup
		for range 150 { // more than are accepted at once
			clients.Go(func() { connectAgain(ctx, d.socket) })
		}
		for answered, ended := 0, 0; answered < 5; { // it is a client like the others, whose connection may be ended
			d.next(1)
			if out, err := exec.CommandContext(t.Context(), program, "status", "--socket", d.socket).CombinedOutput(); err == nil {
				answered++
			} else if ended++; ended > 5 {
				t.Fatalf("status: %v\n%s", err, out)
			}
		}
		said := int(time.Since(begun)/time.Second) + 2 // a line a second
		d.signal(syscall.SIGTERM)                      // hundreds have connected and are not accepted
		d.end()
		stop()
		clients.Wait()
		written := readFile(t, log)
		if strings.Contains(written, "too many open files") {
			t.Errorf("descriptors are missing:\n%s", written)
		}
		for _, line := range []string{"a client gets no connection", "a client's connection is ended"} {
			if n := strings.Count(written, line); n > said {
				t.Errorf("%d lines of %q, want at most %d", n, line, said)
			}
		}
		if !strings.Contains(written, "code=recycled") {
			t.Error("there were not more connections than there is room for")
		}
	})

	t.Run("SIGHUP opens the log file again, and signals to stop that come at once are one", func(t *testing.T) {
		log, rotated := filepath.Join(t.TempDir(), "log"), filepath.Join(t.TempDir(), "log.1")
		d := start(t, program, nil, "--log-file", log)
		must.Do(t, os.Rename(log, rotated))
		await(t, log, unix.IN_CREATE, func() { d.signal(syscall.SIGHUP) })
		d.next(1000)

		// A client that takes its replies late holds the end up.
		late := must.Get(net.Dial("unix", d.socket))(t)
		defer late.Close()
		must.Get(late.Write([]byte(strings.Repeat("NEXT 65536\r\n", 8))))(t)
		must.Get(late.Read(make([]byte, 1)))(t)
		await(t, log, unix.IN_MODIFY, func() { d.signal(syscall.SIGTERM) })
		d.signal(syscall.SIGTERM)
		d.signal(os.Interrupt)
		must.Get(io.Copy(io.Discard, late))(t)
		d.end()
		if before := readFile(t, rotated); !strings.Contains(before, "joined") || strings.Contains(before, "stopped") {
			t.Errorf("the file that was moved has\n%s", before)
		}
		if after := readFile(t, log); strings.Contains(after, "joined") || !strings.Contains(after, "stopped") {
			t.Errorf("the file that was opened has\n%s", after)
		}
		if _, err := os.Stat(d.socket); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is left: %v", err)
		}
	})

	t.Run("a signal to stop that comes a second after the first ends it at once", func(t *testing.T) {
		d := start(t, program, nil)
		late := must.Get(net.Dial("unix", d.socket))(t) // takes no replies, which holds the end up
		defer late.Close()
		must.Get(late.Write([]byte(strings.Repeat("NEXT 65536\r\n", 8))))(t)
		must.Get(late.Read(make([]byte, 1)))(t)
		ended := make(chan error, 1)
		begun := time.Now()
		d.signal(syscall.SIGTERM)
		go func() { ended <- d.Wait() }()
		again := time.NewTicker(10 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case err := <-ended:
				var exit *exec.ExitError
				if took := time.Since(begun); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM || took < time.Second {
					t.Errorf("after %v it ends with %v, want by the signal and not before a second", took, err)
				}
				return
			case <-again.C:
				d.signal(syscall.SIGTERM)
			}
		}
	})
}

// connectAgain connects, asks for nothing, and connects again once that is ended, until ctx ends or
// nobody listens.
func connectAgain(ctx context.Context, socket string) {
	var dialer net.Dialer
	for {
		c, err := dialer.DialContext(ctx, "unix", socket)
		if err != nil {
			return
		}
		stop := context.AfterFunc(ctx, func() { c.Close() })
		_, _ = c.Read(make([]byte, 1))
		stop()
		c.Close()
	}
}

// await does something, and waits until that has the file made or changed.
func await(t *testing.T, file string, event uint32, do func()) {
	t.Helper()
	fd := must.Get(unix.InotifyInit1(unix.IN_CLOEXEC))(t)
	defer unix.Close(fd) // nothing is written to it
	must.Get(unix.InotifyAddWatch(fd, filepath.Dir(file), event))(t)
	do()
	must.Get(unix.Read(fd, make([]byte, unix.SizeofInotifyEvent+unix.NAME_MAX+1)))(t)
}
