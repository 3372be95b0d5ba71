package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/server"
	"github.com/flakeward/flakeward/internal/wire"
)

const (
	// timeout bounds a start: what takes longer does not work.
	timeout = 30 * time.Second
	// knock is how long a client waits before it tries again to connect.
	knock = 500 * time.Microsecond
)

// host is what outlives the daemons that run on it.
type host struct {
	binary, socket, state string
	flags                 []string
}

// newHost has daemons of the given program keep everything below dir, which is made.
func newHost(binary, dir string, flags ...string) (host, error) {
	h := host{binary: binary, socket: filepath.Join(dir, "s"), state: filepath.Join(dir, "state"), flags: flags}
	return h, os.Mkdir(dir, 0o700)
}

// start starts a daemon and returns when a client has its first ID, with how long that took from
// before the start.
func (h host) start(ctx context.Context) (*server.Server, time.Duration, error) {
	// Without a coordinator named, it would not start beside another daemon of this machine. The
	// host's own flags win.
	args := append([]string{"daemon", "--socket", h.socket, "--state-dir", h.state, "--coord", "embedded:"}, h.flags...)
	begun := time.Now()
	s, err := server.Start(ctx, server.Program{Path: h.binary, Args: args})
	if err != nil {
		return nil, 0, err
	}
	err = await(ctx, s, h.socket, oneRun, "RUN", "1")
	took := time.Since(begun)
	if err != nil {
		s.Kill()
		return nil, 0, err
	}
	return s, took, nil
}

// oneRun reads a reply to RUN 1: integers, whatever the daemon's --form is.
func oneRun(in *wire.Reader) error {
	_, _, err := in.Runs(nil, 1)
	return err
}

// await asks a server until it answers, on a new connection each time: it may not listen yet, or
// have nothing to give.
func await(ctx context.Context, s *server.Server, socket string, read func(*wire.Reader) error, request ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	ticker := time.NewTicker(knock)
	defer ticker.Stop()
	for {
		err := ask(ctx, socket, read, request...)
		if err == nil {
			return nil
		}
		select {
		case <-ticker.C:
		case <-s.Ended():
			return s.Gone()
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		}
	}
}

// ask sends one request and reads its reply.
func ask(ctx context.Context, socket string, read func(*wire.Reader) error, request ...string) error {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return err
	}
	defer conn.Close() // nothing is written that could be lost
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err := conn.Write(wire.AppendCommand(nil, request...)); err != nil {
		return err
	}
	return read(wire.NewReader(conn))
}

// pause waits on purpose, for something to be measured in the meantime.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
