package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/daemon/socketfile"
	"github.com/flakeward/flakeward/internal/info"
)

// errNoDaemon is in every error that says that nobody answers at the socket.
var errNoDaemon = errors.New("no daemon")

// client asks the daemon at a socket, one request after the other.
type client struct {
	socket string
	redis  *redis.Client
	stop   func() bool
}

// clientFlags are the flags of a command that asks the daemon.
type clientFlags struct {
	own     paths
	socket  string
	timeout time.Duration
}

func newClientFlags(own paths) *clientFlags {
	return &clientFlags{own: own, socket: own.socket, timeout: defaultTimeout}
}

func (f *clientFlags) flags() []urfave.Flag {
	return []urfave.Flag{
		socketFlag(&f.socket),
		&urfave.GenericFlag{Name: timeoutName, Value: (*duration)(&f.timeout),
			Usage: "give up when an answer takes longer than this"},
	}
}

// open makes a client for a command. It does not connect yet. When ctx ends, so
// does a request that is under way.
func (f *clientFlags) open(ctx context.Context) *client {
	logging.Disable() // what goes wrong is in the errors
	options := &redis.Options{
		Network:       "unix",
		Addr:          f.socket,
		DialTimeout:   f.timeout,
		ReadTimeout:   f.timeout,
		WriteTimeout:  f.timeout,
		DialerRetries: 1,
		MaxRetries:    -1,
		PoolSize:      1,
		// Requests that only a Redis server has an answer for.
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
	dial := redis.NewDialer(options)
	options.Dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := f.own.checkDir(address); err != nil {
			return nil, err
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &refusing{Conn: conn}, nil
	}
	c := &client{socket: f.socket, redis: redis.NewClient(options)}
	c.stop = context.AfterFunc(ctx, func() { _ = c.redis.Close() })
	return c
}

// close ends the connection.
func (c *client) close() {
	if c.stop() {
		_ = c.redis.Close()
	}
}

// ask sends one request and returns the reply as go-redis reads it.
func (c *client) ask(ctx context.Context, words ...any) (any, error) {
	reply, err := c.redis.Do(ctx, words...).Result()
	if err != nil {
		return nil, c.explain(ctx, err)
	}
	return reply, nil
}

// status asks for what the daemon says of itself.
func (c *client) status(ctx context.Context) (info.Info, error) {
	reply, err := c.ask(ctx, "INFO")
	if err != nil {
		return nil, err
	}
	text, ok := reply.(string)
	if !ok {
		return nil, c.odd("INFO", reply)
	}
	in := info.Parse(text)
	if _, own := in.Get(info.Version); !own {
		if version, redis := in.Get(info.Redis); redis {
			return nil, fmt.Errorf("what listens at %s is a Redis server (version %s) and no flakeward daemon: name the daemon's socket with --socket", c.socket, version)
		}
	}
	return in, nil
}

// explain says what an error means for whoever asked.
func (c *client) explain(ctx context.Context, err error) error {
	var refusal redis.Error
	var refused refusedError
	var unsafeDir *socketfile.UnsafeDirError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &unsafeDir):
		return unsafeDir
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%w at %s: there is no such socket; start one with `flakeward daemon`, or name its socket with --socket", errNoDaemon, c.socket)
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, syscall.ENOTSOCK):
		return fmt.Errorf("%w at %s: nobody listens there; start one with `flakeward daemon`, or name its socket with --socket", errNoDaemon, c.socket)
	case errors.Is(err, fs.ErrPermission):
		if dir := socketfile.Closed(c.socket); dir != "" {
			return fmt.Errorf("the directory %s of the socket %s may not be entered by this user: its mode and group say who may", dir, c.socket)
		}
		return fmt.Errorf("the socket %s may not be used by this user: its mode and group say who may (the daemon's --socket-mode and --socket-group)", c.socket)
	case errors.As(err, &refused):
		return fmt.Errorf("the daemon at %s refuses the connection: %w", c.socket, refused)
	case errors.As(err, &refusal):
		return fmt.Errorf("the daemon at %s answers: %w", c.socket, err)
	}
	return fmt.Errorf("asking the daemon at %s: %w", c.socket, err)
}

// odd is the error for a reply of another shape than the protocol has.
func (c *client) odd(request string, reply any) error {
	return fmt.Errorf("the reply to %s at %s is of a kind not known here (%T): is it a flakeward daemon, and of this version?", request, c.socket, reply)
}
