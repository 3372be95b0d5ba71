package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/info"
)

// errNoDaemon is in every error that says that nobody answers at the socket.
var errNoDaemon = errors.New("no daemon")

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

func (f *clientFlags) check() error {
	switch {
	case f.timeout <= 0:
		return usagef("--%s is %v: give a duration above 0", timeoutName, f.timeout)
	case f.socket == "":
		return usagef("there is no default for the socket, as neither XDG_RUNTIME_DIR nor HOME is set: name it with --socket")
	}
	return nil
}

// open makes a client for a command. It does not connect yet.
func (f *clientFlags) open(options ...client.Option) (*client.Client, error) {
	if err := f.check(); err != nil {
		return nil, err
	}
	return client.Open(f.socket, append(options, client.MaxAge(0), client.DialTimeout(f.timeout), client.Timeout(0))...)
}

// status asks for what the daemon says of itself.
func (f *clientFlags) status(ctx context.Context) (info.Info, error) {
	daemon, err := f.open()
	if err != nil {
		return nil, err
	}
	defer daemon.Close() // is nil
	limited, cancel := context.WithTimeout(ctx, f.timeout)
	defer cancel()
	text, err := daemon.Info(limited)
	return info.Parse(text), f.explain(ctx, err)
}

// startOne is what to do where no daemon listens.
const startOne = "start one with `flakeward daemon`, or name its socket with --socket; the end of its log says why one has stopped"

// daemonError is an error of the Go client. Its text does without the client's name.
type daemonError struct {
	socket string
	err    error
}

func (e *daemonError) Error() string {
	return fmt.Sprintf("asking the daemon at %s: %s", e.socket, strings.TrimPrefix(e.err.Error(), "flakeward: "))
}

func (e *daemonError) Unwrap() error { return e.err }

// explain says what an error of the client means for whoever asked.
func (f *clientFlags) explain(ctx context.Context, err error) error {
	var refused *client.RefusedError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w at %s: there is no such socket; "+startOne, errNoDaemon, f.socket)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTSOCK):
		return fmt.Errorf("%w at %s: nobody listens there; "+startOne, errNoDaemon, f.socket)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("the socket %s may not be used by this user: its mode and group say who may (the daemon's --socket-mode and --socket-group), and those of its directories", f.socket)
	case errors.As(err, &refused) && endsConnection(refused.Text):
		return fmt.Errorf("the daemon at %s refuses the connection: %s %s", f.socket, refused.Code, refused.Text)
	}
	return &daemonError{f.socket, err}
}

// endsConnection reports whether a refusal is one after which a daemon closes the connection. A
// daemon that has too many connections sends it unasked.
func endsConnection(refusal string) bool {
	for _, text := range []string{"too many connections", "too much memory", "not allowed"} {
		if strings.HasPrefix(refusal, text) {
			return true
		}
	}
	return false
}
