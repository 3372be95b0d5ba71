package daemon

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

const (
	// silence is how long nobody may answer on the socket before nobody serves it.
	silence = 30 * time.Second
	// askSoon is how long a daemon that was replaced waits before it asks again. The time doubles each
	// time it is refused, up to askLate.
	askSoon = 100 * time.Millisecond
	askLate = 10 * time.Second
	// longestReply bounds what is read of a reply, in bytes.
	longestReply = 512
)

// Run makes a daemon and runs it until ctx ends, or another process has taken over and
// TakeoverLinger is over.
func Run(ctx context.Context, c Config) error {
	d, err := New(c)
	if err != nil {
		return err
	}
	if err := d.Run(ctx); err != nil || !d.handedOver {
		return err
	}
	linger(ctx, d)
	return nil
}

// linger keeps a process that has handed over from ending at once: a supervisor that starts
// whatever ends would have it take over again. It returns when ctx ends, when nobody serves the
// socket any more, so that this process has to be started again, or after TakeoverLinger.
func linger(ctx context.Context, d *Daemon) {
	limit := d.config.TakeoverLinger
	if limit <= 0 {
		return
	}
	d.log.Info("another daemon serves; waiting for the end", "limit", limit)
	ctx, cancel := clockguard.WithTimeout(ctx, d.clock, limit)
	defer cancel()
	if err := (served{d.config.Socket.Path, d.clock, silence}).wait(ctx); err != nil {
		d.log.Info("nobody serves the socket any more; ending, to be started again", "error", err)
	}
}

// served is a socket that another process serves. To connect to it shows nothing: the service
// manager may hold the listening socket, too, and then the kernel accepts for nobody. A reply to
// PING does.
type served struct {
	path    string
	clock   clockguard.Clock
	silence time.Duration // for how long nobody may answer
}

// wait returns once nobody serves the socket, and the error says what shows that. It returns nil
// when ctx ends.
func (s served) wait(ctx context.Context) error {
	answered, again := s.clock.Now().Mono, askSoon
	for {
		pong, err := s.ask(ctx)
		if ctx.Err() != nil {
			return nil
		}
		now := s.clock.Now().Mono
		switch {
		case err == nil:
			if answered = now; pong {
				again = askSoon
			}
		case !unclear(err) || now.Sub(answered) > s.silence:
			return err
		}
		if s.clock.Sleep(ctx, again) != nil {
			return nil
		}
		again = min(2*again, askLate)
	}
}

// unclear reports whether somebody may serve, though the question had no answer: the queue of those
// who connect is full, or the connection was closed.
func unclear(err error) bool {
	for _, e := range []error{syscall.EAGAIN, io.EOF, syscall.ECONNRESET} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// ask asks who serves. After a PONG it waits for the end of the connection, or of ctx. No error
// without a PONG means that somebody serves and refuses, as where there are too many connections.
func (s served) ask(ctx context.Context) (pong bool, err error) {
	asking, cancel := clockguard.WithTimeout(ctx, s.clock, s.silence)
	defer cancel()
	c, err := new(net.Dialer).DialContext(asking, "unix", s.path)
	if err != nil {
		return false, err
	}
	defer c.Close() // all has been said
	end := func() { _ = c.Close() }
	stop := context.AfterFunc(asking, end)
	// Who refuses may have closed the connection already. Its reply can be read all the same.
	_, _ = io.WriteString(c, "PING\r\n")
	reply, err := bufio.NewReader(io.LimitReader(c, longestReply)).ReadString('\n')
	stop()
	if asking.Err() != nil && err != nil {
		return false, fmt.Errorf("nobody has answered on %s within %v", s.path, s.silence)
	}
	if err != nil || reply != "+PONG\r\n" {
		return false, err
	}
	// Nothing more is asked, so nothing comes but the end.
	stop = context.AfterFunc(ctx, end)
	defer stop()
	_, _ = c.Read(make([]byte, 1))
	return true, nil
}
