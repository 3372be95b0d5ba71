package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/probe"
)

// client makes single requests, and says what failed where.
type client struct {
	name    string  // what errors call the servers
	user    string  // for errors; empty if there is none
	root    string  // of the keys, for errors
	servers Servers // that can be asked why they do not serve; none if New has made the coordinator
	timeout time.Duration
	login   *login // nil without a user
	library *clientv3.Client
	through through // nil but in tests
	closed  atomic.Bool
}

// through is what every request but a session's renewal passes, so that tests can lose it or its
// reply.
type through func(ctx context.Context, k kind, send func(context.Context) error) error

// clock is for waiting: nothing that is stored or decided comes from it.
var clock clockguard.System

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	_ = clock.Sleep(ctx, d) // the only error is that ctx ended
}

// try makes one request.
func (c *client) try(ctx context.Context, k kind, request func(context.Context) error) error {
	send := request
	if c.through != nil {
		send = func(ctx context.Context) error { return c.through(ctx, k, request) }
	}
	return c.within(ctx, c.timeout, k, send)
}

// within bounds one request and says in its error what failed where.
func (c *client) within(ctx context.Context, timeout time.Duration, what kind, request func(context.Context) error) error {
	if c.closed.Load() {
		return fmt.Errorf("%s: %w", c.name, coord.ErrClosed)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %s: not tried: %w", c.name, what, ctx.Err())
	}
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	late := probe.Watch(bounded, func(ctx context.Context) error { return c.servers.unwell(ctx, true) })
	defer late.Stop()
	err := c.once(bounded, request)
	switch {
	case err == nil:
		return nil
	case errors.Is(ctx.Err(), context.Canceled):
		return fmt.Errorf("%s: %s: %w", c.name, what, ctx.Err())
	case bounded.Err() != nil:
		why := late.Why()
		if why == nil { // there was no time for it
			return fmt.Errorf("%s: %s: no answer within %v (%w)", c.name, what, timeout, bounded.Err())
		}
		return fmt.Errorf("%s: %s: %w", c.name, what, probe.Says(errors.Join(why, bounded.Err()), "%v", why))
	case errors.Is(err, rpctypes.ErrNoSpace):
		return fmt.Errorf("%s: %s: its space quota is used up: compact, defragment and disarm its alarm (etcdctl compact, defrag, alarm disarm): %w", c.name, what, err)
	default:
		return fmt.Errorf("%s: %s: %w", c.name, what, c.refusal(c.why(bounded, err)))
	}
}

// refusal says what an answer means that is about who asks, and is coord.ErrLogin or
// coord.ErrAccess; it returns other errors as they are. An operator can set each right at the
// servers, while daemons run.
func (c *client) refusal(err error) error {
	kind, why := coord.ErrLogin, ""
	switch {
	case errors.Is(err, rpctypes.ErrAuthFailed):
		why = fmt.Sprintf("there is no user %q, or the password is wrong", c.user)
	case errors.Is(err, rpctypes.ErrPermissionDenied) && c.user != "":
		kind, why = coord.ErrAccess, fmt.Sprintf("the user %q may not read and write all keys that begin with %s; grant that to it", c.user, c.root)
	case errors.Is(err, rpctypes.ErrPermissionDenied):
		kind, why = coord.ErrAccess, fmt.Sprintf("the user that the client certificate names may not read and write all keys that begin with %s; grant that to it", c.root)
	case c.user != "" && ended(err):
		why = fmt.Sprintf("the servers do not accept the token that they gave the user %q a moment ago; compare the clocks of the members, and their --auth-token", c.user)
	case errors.Is(err, rpctypes.ErrUserEmpty), errors.Is(err, rpctypes.ErrInvalidAuthToken):
		why = "it knows only users: give --coord-user and --coord-password-file, or a client certificate whose common name is a user"
	default:
		return err
	}
	return fmt.Errorf("%w: %s (%w)", kind, why, err)
}
