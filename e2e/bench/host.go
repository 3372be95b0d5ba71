package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
)

const (
	// timeout bounds a start: what takes longer does not work.
	timeout = 30 * time.Second
	// knock is how long a client waits before it tries again to connect.
	knock = 500 * time.Microsecond
)

// newHost has daemons of the given program, on the machine's clock, keep everything below dir.
func newHost(binary, dir string, flags ...string) (*process.Host, error) {
	h, err := process.NewHost(binary, dir, flags...)
	h.Clock = nil
	return h, err
}

// start starts a daemon and returns when a client has its first ID, with how long that took from
// before the start.
func start(ctx context.Context, h *process.Host) (*process.Process, time.Duration, error) {
	d, err := h.Start(ctx)
	if err != nil {
		return nil, 0, err
	}
	err = await(ctx, d.Process, h.Socket, oneRun, "RUN", "1")
	took := time.Since(d.Begun)
	if err != nil {
		return nil, 0, errors.Join(err, d.Kill())
	}
	return d.Process, took, nil
}

// oneRun reads a reply to RUN 1: integers, whatever the daemon's --form is.
func oneRun(in *wire.Reader) (step int64, err error) {
	_, step, err = in.Runs(nil, 1)
	return step, err
}

// await asks a server until it answers, on a new connection each time: it may not listen yet, or
// have nothing to give.
func await(ctx context.Context, s *process.Process, socket string, read func(*wire.Reader) (int64, error), request ...string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("no answer within %v", timeout))
	defer cancel()
	ticker := time.NewTicker(knock)
	defer ticker.Stop()
	for {
		_, err := load.Ask(ctx, socket, read, request...)
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
