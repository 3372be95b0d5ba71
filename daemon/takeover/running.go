package takeover

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/serve"
	"github.com/flakeward/flakeward/internal/fault"
)

// Listener is where newcomers come to.
type Listener struct {
	socket  *net.UnixListener
	uid     int // a newcomer has to be of this user: it goes on with the connections
	path    string
	version string
	running func() (Settings, Running)
	log     hclog.Logger
}

// Listen waits beside the daemon's socket at path, whose lock the caller holds. What the daemon is,
// is asked for when somebody comes.
func Listen(path, version string, running func() (Settings, Running), log hclog.Logger) (*Listener, error) {
	path += suffix
	// Whose the file was, that process is gone, or has handed all over: the lock is held.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var l *net.UnixListener
	err := fitting(path, func(path string) (err error) {
		l, err = net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("no daemon will be able to take over from this one: %w", err)
	}
	l.SetUnlinkOnClose(false)
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return &Listener{l, os.Geteuid(), path, version, running, log}, nil
}

// Close lets nobody come any more, and removes the socket. It comes before Commit: after that the
// path is the newcomer's.
func (l *Listener) Close() error { return errors.Join(os.Remove(l.path), l.socket.Close()) }

// Await answers newcomers, one after the other, until one is ready. The error is that of the
// listener, or ctx's.
func (l *Listener) Await(ctx context.Context) (*Successor, error) {
	defer context.AfterFunc(ctx, func() { _ = l.socket.SetDeadline(time.Unix(1, 0)) })()
	for {
		c, err := l.socket.AcceptUnix()
		if ctx.Err() != nil {
			if err == nil {
				_ = c.Close()
			}
			return nil, ctx.Err()
		}
		if errors.Is(err, net.ErrClosed) {
			return nil, err
		}
		if err != nil { // mostly there is no file descriptor left
			l.log.Warn("cannot accept a connection; retrying", "error", err)
			pause, cancel := context.WithTimeout(ctx, acceptPause)
			<-pause.Done()
			cancel()
			continue
		}
		s, err := l.greet(ctx, link{c})
		if err == nil {
			return s, nil
		}
		l.log.Warn("a newcomer does not take over", "reason", err)
		_ = c.Close()
	}
}

// greet answers one newcomer, and waits until it is ready.
func (l *Listener) greet(ctx context.Context, c link) (*Successor, error) {
	m, descriptors, err := c.receive(ctx, offer, stillTimeout)
	closeAll(descriptors)
	if err != nil {
		return nil, err
	}
	// Only now: who is refused while it sends does not hear why.
	who := peercred.Of(c.UnixConn)
	if !who.Known || int(who.UID) != l.uid {
		return nil, c.refuse(ctx, fmt.Sprintf("it is of user %d, and who asks is of user %s: ask as that user", l.uid, who.User()))
	}
	if m.Protocol != Protocol {
		return nil, c.refuse(ctx, fmt.Sprintf("it is of version %s and speaks protocol %d of taking over, and the newcomer, of version %s, speaks %d: "+
			"stop the running daemon, and then start the other", l.version, Protocol, m.Version, m.Protocol))
	}
	if m.Settings == nil {
		m.Settings = &Settings{}
	}
	settings, running := l.running()
	if why := settings.differs(*m.Settings); why != "" {
		return nil, c.refuse(ctx, why+": stop the running daemon, and then start the other")
	}
	fault.Point(fault.RunningAsked)
	if err := c.send(ctx, message{Kind: accept, Protocol: Protocol, Version: l.version, Running: &running}, stillTimeout); err != nil {
		return nil, err
	}
	answer, descriptors, err := c.receive(ctx, ready, readyTimeout)
	if err != nil {
		return nil, err
	}
	closeAll(descriptors)
	fault.Point(fault.RunningReady)
	return &Successor{c, m.Version, int(who.PID), answer.Held}, nil
}

// refuse tells the newcomer why, and returns that as an error.
func (l link) refuse(ctx context.Context, why string) error {
	_ = l.send(ctx, message{Kind: refuse, Reason: why}, stillTimeout)
	return errors.New(why)
}

// Successor is a newcomer that is ready.
type Successor struct {
	link    link
	Version string
	PID     int  // as this process sees it; 0: the newcomer is of another PID namespace
	Held    bool // it holds a worker ID
}

// Refuse tells the newcomer why it does not take over, and returns that.
func (s *Successor) Refuse(ctx context.Context, why string) error { return s.link.refuse(ctx, why) }

// first returns the first of all, as many as one message has.
func first(all []serve.Connection) []serve.Connection {
	bytes := 0
	for i, c := range all {
		bytes += len(c.In) + len(c.Out) + c.Session.Transaction.Held()
		if i == perMessage || i > 0 && bytes > messageBytes {
			return all[:i]
		}
	}
	return all
}

// Offer hands over what is open, and returns once the newcomer has it. It owns nothing yet.
func (s *Successor) Offer(ctx context.Context, all []serve.Connection) error {
	for len(all) > 0 {
		part := first(all)
		all = all[len(part):]
		descriptors := make([]int, len(part))
		for i, c := range part {
			descriptors[i] = c.FD
		}
		if err := s.link.send(ctx, message{Kind: connections, Connections: part}, stillTimeout, descriptors...); err != nil {
			return err
		}
	}
	if err := s.link.send(ctx, message{Kind: connections}, stillTimeout); err != nil {
		return err
	}
	_, descriptors, err := s.link.receive(ctx, received, stillTimeout)
	closeAll(descriptors)
	return err
}

// Commit hands over everything. After an error nothing is handed over; otherwise the caller does
// not touch what it sent any more.
func (s *Successor) Commit(ctx context.Context, c Commit) error {
	files := []*os.File{c.Lock, c.Listener}
	if c.Listen = c.Address != nil; c.Listen {
		files = append(files, c.Address)
	}
	descriptors, err := descriptorsIn(files)
	if err != nil {
		return err
	}
	return s.link.send(ctx, message{Kind: commit, Commit: &c}, stillTimeout, descriptors...)
}

// descriptorsIn are those of files, which have to stay open while they are used.
func descriptorsIn(files []*os.File) (descriptors []int, err error) {
	for _, f := range files {
		raw, err := f.SyscallConn()
		if err != nil {
			return nil, err
		}
		if err := raw.Control(func(fd uintptr) { descriptors = append(descriptors, int(fd)) }); err != nil {
			return nil, err
		}
	}
	return descriptors, nil
}

// Close ends the conversation.
func (s *Successor) Close() error { return s.link.Close() }
