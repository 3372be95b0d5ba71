package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/internal/fault"
)

// Predecessor is a running daemon that lets itself be taken over.
type Predecessor struct {
	Running
	link    link
	Version string
}

// dial connects to the daemon that runs on the socket at path. The error is ErrNobody if none does.
func dial(ctx context.Context, path string) (link, error) {
	var c net.Conn
	err := fitting(path+suffix, func(path string) (err error) {
		c, err = new(net.Dialer).DialContext(ctx, "unix", path)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, unix.ECONNREFUSED):
		return link{}, ErrNobody
	case errors.Is(err, fs.ErrPermission):
		return link{}, fmt.Errorf("the running daemon cannot be asked: %w: ask as its user", err)
	case err != nil:
		return link{}, fmt.Errorf("the running daemon cannot be asked: %w", err)
	}
	return link{c.(*net.UnixConn)}, nil
}

// Ask asks the daemon that runs on the socket at path. The error is ErrNobody if none does, and a
// *RefusedError if it says no.
func Ask(ctx context.Context, path, version string, settings Settings) (*Predecessor, error) {
	c, err := dial(ctx, path)
	if err != nil {
		return nil, err
	}
	p := &Predecessor{link: c}
	if err := p.greet(ctx, version, settings); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return p, nil
}

func (p *Predecessor) greet(ctx context.Context, version string, settings Settings) error {
	if err := p.link.send(ctx, message{Kind: offer, Protocol: Protocol, Version: version, Settings: &settings}, stillTimeout); err != nil {
		return err
	}
	// Another newcomer may have come before.
	m, descriptors, err := p.link.receive(ctx, accept, readyTimeout)
	closeAll(descriptors)
	p.Version = m.Version
	if m.Running != nil {
		p.Running = *m.Running
	}
	fault.Point(fault.NewcomerAccepted)
	return err
}

// Ready says that this process can go on in the running daemon's place, and whether it holds a
// worker ID: if not, that daemon gives its own back. Receive follows at once: that daemon waits for
// it without serving.
func (p *Predecessor) Ready(ctx context.Context, held bool) error {
	fault.Point(fault.NewcomerRehearsed)
	err := p.link.send(ctx, message{Kind: ready, Held: held}, stillTimeout)
	fault.Point(fault.NewcomerReady)
	return err
}

// Receive returns what the running daemon hands over, with at most so many connections. After an
// error this process has nothing.
func (p *Predecessor) Receive(ctx context.Context, most int) (c Commit, all []serve.Connection, err error) {
	defer func() {
		if err != nil {
			for _, c := range all {
				_ = unix.Close(c.FD)
			}
			all = nil
		}
	}()
	for timeout := readyTimeout; ; timeout = stillTimeout * 4 {
		m, descriptors, err := p.link.receive(ctx, connections, timeout)
		if err != nil {
			return c, all, err
		}
		if n := len(all) + len(descriptors); n > most {
			closeAll(descriptors)
			return c, all, fmt.Errorf("the running daemon has %d connections or more, and the limit of file descriptors leaves room for %d here: "+
				"raise the limit (ulimit -n, LimitNOFILE)", n, most)
		}
		if n := len(m.Connections); n != len(descriptors) {
			closeAll(descriptors)
			return c, all, fmt.Errorf("%d connections came with %d descriptors", n, len(descriptors))
		}
		if len(descriptors) == 0 {
			break
		}
		for i := range m.Connections {
			m.Connections[i].FD = descriptors[i]
		}
		all = append(all, m.Connections...)
	}
	if err := p.link.send(ctx, message{Kind: received}, stillTimeout); err != nil {
		return c, all, err
	}
	fault.Point(fault.NewcomerReceived)
	m, descriptors, err := p.link.receive(ctx, commit, readyTimeout)
	if err != nil {
		return c, all, err
	}
	wanted := 2
	if m.Commit != nil && m.Commit.Listen {
		wanted++
	}
	if m.Commit == nil || m.Commit.Connections != len(all) || len(descriptors) != wanted {
		// It has been sent, so that the other never issues again: this process must not either.
		closeAll(descriptors)
		return c, all, fmt.Errorf("%w: what was handed over is not complete", ErrBroken)
	}
	c = *m.Commit
	files := filesOf(descriptors)
	c.Lock, c.Listener = files[0], files[1]
	if c.Listen {
		c.Address = files[2]
	}
	fault.Point(fault.NewcomerCommitted)
	return c, all, nil
}

// Over is closed once the other side has ended the conversation, or is gone. It comes after
// Receive, and takes the place of Close.
func (p *Predecessor) Over() <-chan struct{} {
	over := make(chan struct{})
	go func() {
		defer close(over)
		_, _ = p.link.Read(make([]byte, 1)) // nothing follows a COMMIT
		_ = p.link.Close()
	}()
	return over
}

// Close ends the conversation.
func (p *Predecessor) Close() error { return p.link.Close() }
