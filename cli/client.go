package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// errNoDaemon is in every error that says that nobody answers at the socket.
var errNoDaemon = errors.New("no daemon")

// client asks the daemon at a socket, one request after the other.
type client struct {
	flags *clientFlags
	conn  net.Conn // nil: there was no request yet
	in    *wire.Reader
	stop  func() bool // ends the watch on the context, and reports whether the connection is open still
}

// clientFlags are the flags of a command that asks the daemon.
type clientFlags struct {
	socket  string
	timeout time.Duration
}

func newClientFlags(own paths) *clientFlags {
	return &clientFlags{socket: own.socket, timeout: defaultTimeout}
}

func (f *clientFlags) flags() []urfave.Flag {
	return []urfave.Flag{
		socketFlag(&f.socket),
		&urfave.DurationFlag{Name: timeoutName, Destination: &f.timeout, Value: f.timeout,
			Usage: "fail if an answer takes longer than this `DURATION`"},
	}
}

// open makes a client for a command. It does not connect yet.
func (f *clientFlags) open() *client { return &client{flags: f} }

// longestLine is how long a line of a reply may be, in bytes. An error reply is one line.
const longestLine = 64 << 10

// connect dials the socket unless that was done. When ctx ends, so does the connection.
func (c *client) connect(ctx context.Context) error {
	switch {
	case c.conn != nil:
		return nil
	case c.flags.timeout <= 0:
		return usagef("--%s is %v: give a duration above 0", timeoutName, c.flags.timeout)
	}
	conn, err := c.flags.dial(ctx)
	if err != nil {
		return err
	}
	c.conn, c.in = conn, wire.NewReaderSize(conn, longestLine)
	c.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	return nil
}

// close ends the connection.
func (c *client) close() {
	if c.conn != nil && c.stop() {
		_ = c.conn.Close()
	}
}

// ask sends one request, and has its reply read.
func (c *client) ask(ctx context.Context, read func(*wire.Reader) error, words ...string) error {
	err := c.connect(ctx)
	if err == nil {
		err = c.conn.SetDeadline(time.Now().Add(c.flags.timeout))
	}
	if err == nil {
		err = c.in.Send(c.conn, wire.AppendCommand(nil, words...))
	}
	if err == nil {
		err = read(c.in)
	}
	var refused wire.Refused
	if err != nil && !errors.As(err, &refused) {
		c.close() // what is left of the reply is no answer to the next request
		c.conn = nil
	}
	return c.flags.explain(ctx, words[0], err)
}

// status asks for what the daemon says of itself.
func (c *client) status(ctx context.Context) (info.Info, error) {
	var text string
	err := c.ask(ctx, func(r *wire.Reader) (err error) {
		text, err = r.Bulk()
		return err
	}, "INFO")
	if err != nil {
		return nil, err
	}
	in := info.Parse(text)
	if _, own := in.Get(info.Version); !own {
		if version, redis := in.Get(info.Redis); redis {
			return nil, fmt.Errorf("what listens at %s is a Redis server (version %s) and no flakeward daemon: name the daemon's socket with --socket", c.flags.socket, version)
		}
	}
	return in, nil
}

// dial connects to the daemon's socket.
func (f *clientFlags) dial(ctx context.Context) (net.Conn, error) {
	if f.socket == "" {
		return nil, usagef("there is no default for the socket, as neither XDG_RUNTIME_DIR nor HOME is set: name it with --socket")
	}
	return (&net.Dialer{Timeout: f.timeout}).DialContext(ctx, "unix", f.socket)
}

// refusedError is an error reply.
type refusedError struct {
	socket string
	reply  wire.Refused
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("the daemon at %s answers: %s", e.socket, string(e.reply))
}

// startOne is what to do where no daemon listens.
const startOne = "start one with `flakeward daemon`, or name its socket with --socket; the end of its log says why one has stopped"

// explain says what an error means for whoever asked.
func (f *clientFlags) explain(ctx context.Context, request string, err error) error {
	socket := f.socket
	var refused wire.Refused
	var usage *usageError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &usage):
		return usage
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w at %s: there is no such socket; "+startOne, errNoDaemon, socket)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTSOCK):
		return fmt.Errorf("%w at %s: nobody listens there; "+startOne, errNoDaemon, socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the socket %s may not be used by this user: its mode and group say who may (the daemon's --socket-mode and --socket-group), and those of its directories", socket)
	case errors.As(err, &refused) && endsConnection(refused):
		return fmt.Errorf("the daemon at %s refuses the connection: %s", socket, string(refused))
	case errors.As(err, &refused):
		return &refusedError{socket: socket, reply: refused}
	case errors.Is(err, wire.ErrFrame):
		return fmt.Errorf("the reply to %s at %s is of a kind not known here: is it a flakeward daemon, and of this version? %w", request, socket, err)
	}
	return fmt.Errorf("asking the daemon at %s: %w", socket, err)
}

// endsConnection reports whether a reply is one after which a daemon closes the connection. A daemon
// that has too many connections sends it unasked.
func endsConnection(reply wire.Refused) bool {
	for _, text := range []string{"ERR too many connections", "ERR too much memory", "ERR not allowed"} {
		if strings.HasPrefix(string(reply), text) {
			return true
		}
	}
	return false
}
