package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/probe"
)

// kind says what a request is for, in errors and to tests. Those that write a record
// say it in claims.Write's words.
type kind string

const (
	kindTree    kind = "make the tree"
	kindAccess  kind = "see who may change the tree"
	kindLook    kind = "read the layout"
	kindMake    kind = "make the layout"
	kindReplace kind = "replace the layout"
	kindNumber  kind = "draw a sequence number"
	kindCreate  kind = "create a claim"
	kindDelete  kind = "delete a claim"
	kindClaims  kind = "list the claims"
	kindClaim   kind = "read a claim"
	kindRecords kind = "list the records"
	kindRecord  kind = "read a record"
	kindHistory kind = "read a worker ID's history"
	kindHost    kind = "read the host's worker ID"
	kindPrefer  kind = "store the host's worker ID"
	kindForget  kind = "delete the worker ID of another host"
)

// current marks the sync before a read of that kind.
const current kind = " as of now"

// The limits of one packet. A request is a few kilobytes; servers refuse 1 MiB
// (jute.maxbuffer). They do not limit their answers: the longest is the list of all
// claims, about 80 bytes for each. 16 MiB are 200,000 of them.
const (
	maxRequest = 1 << 20
	maxReply   = 16 << 20
)

// through is what every request passes, so that tests can lose it or its reply.
type through func(k kind, send func() error) error

// client sends requests over one session, which the first of them begins.
type client struct {
	servers Servers
	config  Config
	name    string // what errors call the servers
	root    string // of the tree
	network func(ctx context.Context, network, address string) (net.Conn, error)
	through through // nil but in tests

	life context.Context // ends with finish
	end  context.CancelFunc
	sent sync.WaitGroup // one for each request that the library has

	mu        sync.Mutex
	session   *session // nil before the first request
	closed    bool
	passwords []string // the user's: that of the start, and those that were read again since
}

func newClient(servers Servers, config Config, root string) *client {
	c := &client{
		servers: servers, config: config, name: "zk (" + strings.Join(servers.Addresses, ", ") + ")", root: root,
		passwords: []string{servers.Password}, network: new(net.Dialer).DialContext,
	}
	c.life, c.end = context.WithCancel(context.Background())
	return c
}

// access returns the ACL of every node that is made: with a user, that user and nobody else may
// read and change it; else everybody may. It names the user by the digests that ZooKeeper keeps, so
// it does not depend on what the connection is logged in as. While a password is being changed,
// daemons know the one of before, the new one, or both.
func (c *client) access() (all []gozk.ACL) {
	if c.servers.User == "" {
		return gozk.WorldACL(gozk.PermAll)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, password := range c.passwords {
		all = append(all, gozk.DigestACL(gozk.PermAll, c.servers.User, password)...)
	}
	return all
}

// logIn logs in with the password that was read last, beside those of before.
func (c *client) logIn(session *session) error {
	if c.servers.User == "" {
		return nil
	}
	password := c.servers.Current.Password(c.servers.Password)
	err := session.logIn(password, func() error { return session.conn.AddAuth("digest", []byte(c.servers.User+":"+password)) })
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.passwords, password) {
		c.passwords = append(c.passwords, password)
		c.config.Log.Info("logged in with the password that was read again")
	}
	return nil
}

// errClosed wraps coord.ErrClosed for calls after Close.
var errClosed = fmt.Errorf("zk: %w", coord.ErrClosed)

// connected returns the session, which is begun by the first request.
func (c *client) connected() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, errClosed
	}
	if c.session == nil {
		var err error
		if c.session, err = openSession(c); err != nil {
			return nil, err
		}
	}
	return c.session, nil
}

// finish has the session ended, once.
func (c *client) finish() error {
	c.mu.Lock()
	session, closed := c.session, c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	c.end()
	var err error
	if session != nil {
		err = session.close()
	}
	c.sent.Wait() // the library has failed what it still had
	return err
}

// reply is what a request came to.
type reply[T any] struct {
	value T
	err   error
}

// ask sends a request that changes nothing, as often as connections are lost.
func ask[T any](ctx context.Context, c *client, k kind, path string, send func(*gozk.Conn) (T, error)) (T, error) {
	return request(ctx, c, k, path, true, send)
}

// tell sends a request that changes something, once. An error that has no verdict
// leaves open whether it takes place, now or later.
func tell[T any](ctx context.Context, c *client, k kind, path string, send func(*gozk.Conn) (T, error)) (T, error) {
	return request(ctx, c, k, path, false, send)
}

// request waits for a connection and then for the answer, both together no longer than TryTimeout.
// What the servers answer is returned as it is; any other error says what failed where.
func request[T any](ctx context.Context, c *client, k kind, path string, again bool, send func(*gozk.Conn) (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, fmt.Errorf("%s: %s: not tried: %w", c.name, k, ctx.Err())
	}
	session, err := c.connected()
	if err != nil {
		return none, err
	}
	bounded, cancel := context.WithTimeout(ctx, c.config.TryTimeout)
	defer cancel()
	watch := probe.Watch(bounded, func(ctx context.Context) error { return c.unwell(ctx, session.dialer.reason()) })
	defer watch.Stop()
	for {
		var r reply[T]
		select {
		case <-session.gate():
			r = await(bounded, c, session, k, send)
		case <-c.life.Done():
			return none, errClosed
		case <-bounded.Done():
			r.err = bounded.Err()
		}
		switch {
		case r.err == nil || verdict(r.err):
			return r.value, r.err
		case c.life.Err() != nil:
			return none, errClosed
		case errors.Is(ctx.Err(), context.Canceled):
			return none, fmt.Errorf("%s: %s: %w", c.name, k, ctx.Err())
		case bounded.Err() != nil:
			return none, fmt.Errorf("%s: %s: %w", c.name, k, late(watch.Why(), session.dialer.reason(), bounded.Err()))
		case !disconnected(r.err):
			return none, c.explain(k, path, r.err)
		case !again:
			return none, fmt.Errorf("%s: %s: the connection was lost before the answer, so the outcome is unknown; it is tried again later: %w", c.name, k, r.err)
		}
		// The library tells of the lost connection before it says so to the gate.
		wait(bounded, 5*time.Millisecond)
	}
}

// await has the request sent and waits for the answer, to the end of ctx. Then the
// library still has it, and may even send it; Close waits until it has not.
func await[T any](ctx context.Context, c *client, session *session, k kind, send func(*gozk.Conn) (T, error)) (r reply[T]) {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return reply[T]{err: errClosed}
	}
	answer, through := make(chan reply[T], 1), c.through
	c.sent.Go(func() {
		var r reply[T]
		call := func() (err error) {
			if err = c.logIn(session); err == nil {
				r.value, err = send(session.conn)
			}
			return err
		}
		if through != nil {
			r.err = through(k, call)
		} else {
			r.err = call()
		}
		answer <- r
	})
	c.mu.Unlock()
	select {
	case r = <-answer:
	case <-ctx.Done():
		r.err = ctx.Err()
	}
	return r
}

// verdict reports whether err is the servers' judgement of what the tree holds.
func verdict(err error) bool {
	return errors.Is(err, gozk.ErrNoNode) || errors.Is(err, gozk.ErrNodeExists) || errors.Is(err, gozk.ErrBadVersion) || errors.Is(err, gozk.ErrNotEmpty)
}

// disconnected reports whether err means that the connection or its session ended.
func disconnected(err error) bool {
	var broken net.Error // it was being written to
	return errors.As(err, &broken) || errors.Is(err, net.ErrClosed) || errors.Is(err, gozk.ErrConnectionClosed) || errors.Is(err, gozk.ErrNoServer) || errors.Is(err, gozk.ErrClosing) ||
		errors.Is(err, gozk.ErrSessionExpired) || errors.Is(err, gozk.ErrSessionMoved)
}

// explain says what the reader can do about an error of the servers.
func (c *client) explain(k kind, path string, err error) error {
	switch {
	case errors.Is(err, gozk.ErrNoAuth) && c.servers.User == "":
		return fmt.Errorf("%s: %s: %w: no access to %s: its ACL is for a user; give that user and password (%w)", c.name, k, coord.ErrAccess, path, err)
	case errors.Is(err, gozk.ErrNoAuth):
		return fmt.Errorf("%s: %s: %w: no access to %s: its ACL is not for user %q, or the password is another one, which ZooKeeper does not tell apart; "+
			"give the right user and password, or another chroot (%w)", c.name, k, coord.ErrAccess, path, c.servers.User, err)
	case errors.Is(err, gozk.ErrAuthFailed), errors.Is(err, gozk.ErrInvalidACL):
		return fmt.Errorf("%s: %s: %w: the servers do not take a user and password (digest) (%w)", c.name, k, coord.ErrLogin, err)
	default:
		return fmt.Errorf("%s: %s: %s: %w", c.name, k, path, err)
	}
}

// each calls f for all of 0 to n-1, several at a time, and returns the first error,
// which ends the context of the others. It calls f for each, so that an error is one
// of f's, which says what failed, also if ctx has ended.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(pipelined)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait()
}

// pipelined is how many requests of one listing are under way at once.
const pipelined = 64
