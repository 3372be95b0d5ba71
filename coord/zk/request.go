package zk

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/claims"
)

// kind says what a request is for, in errors and to tests. Those that write a record
// say it in claims.Write's words.
type kind string

const (
	kindTree    kind = "make the tree"
	kindAccess  kind = "see who may change the tree"
	kindLook    kind = "read the layout"
	kindJoin    kind = "make the layout"
	kindTokens  kind = "list what is below the layout"
	kindMark    kind = "make what is below the layout"
	kindReplace kind = "replace the layout"
	kindCreate  kind = "create a claim"
	kindDelete  kind = "delete a claim"
	kindClaims  kind = "list the claims"
	kindClaim   kind = "read a claim"
	kindRecords kind = "list the records"
	kindRecord  kind = "read a record"
	kindHistory kind = "read a worker ID's history"
	kindHost    kind = "read the host's worker ID"
	kindPrefer  kind = "store the host's worker ID"
)

// asOfNow marks the sync before a read of that kind.
const asOfNow kind = " as of now"

// The limits of one packet. A request is a few kilobytes; servers refuse 1 MiB
// (jute.maxbuffer). They do not limit their answers: the longest is the list of all
// claims, about 80 bytes for each. 16 MiB are 200,000 of them.
const (
	maxRequest = 1 << 20
	maxReply   = 16 << 20
)

// through is what every request passes, so that tests can lose it or its reply.
type through func(k kind, send func() error) error

// reply is what a request came to.
type reply[T any] struct {
	value T
	err   error
}

// ask sends a request that changes nothing, as often as connections are lost.
func ask[T any](ctx context.Context, s *store, k kind, path string, send func(*gozk.Conn) (T, error)) (T, error) {
	return request(ctx, s, k, path, true, send)
}

// tell sends a request that changes something, once. An error that has no verdict
// leaves open whether it takes place, now or later.
func tell[T any](ctx context.Context, s *store, k kind, path string, send func(*gozk.Conn) (T, error)) (T, error) {
	return request(ctx, s, k, path, false, send)
}

// request waits for a connection and then for the answer, both together no longer
// than TryTimeout. What the servers answer is returned as it is; any other error
// says what failed where.
func request[T any](ctx context.Context, s *store, k kind, path string, again bool, send func(*gozk.Conn) (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, fmt.Errorf("%s: %s: not tried: %w", s.name, k, ctx.Err())
	}
	session, err := s.connected()
	if err != nil {
		return none, err
	}
	bounded, cancel := context.WithTimeout(ctx, s.config.TryTimeout)
	defer cancel()
	start := clock.Now().Mono
	for {
		var r reply[T]
		select {
		case <-session.gate():
			r = await(bounded, s, session, k, send)
		case <-s.life.Done():
			return none, errClosed
		case <-bounded.Done():
			r.err = bounded.Err()
		}
		switch {
		case r.err == nil || verdict(r.err):
			return r.value, r.err
		case s.life.Err() != nil:
			return none, errClosed
		case errors.Is(ctx.Err(), context.Canceled):
			return none, fmt.Errorf("%s: %s: %w", s.name, k, ctx.Err())
		case bounded.Err() != nil:
			waited := s.config.TryTimeout
			if ctx.Err() != nil { // the caller's was shorter
				waited = time.Duration(clock.Now().Mono - start).Round(10 * time.Millisecond)
			}
			why := bounded.Err()
			if reason := session.dialer.reason(); reason != nil {
				why = fmt.Errorf("%w; the last try: %w", why, reason)
			}
			return none, fmt.Errorf("%s: %s: no answer within %v; is it running, reachable and is --coord right? (%w)", s.name, k, waited, why)
		case !disconnected(r.err):
			return none, s.explain(k, path, r.err)
		case !again:
			return none, fmt.Errorf("%s: %s: the connection was lost before the answer, so the outcome is unknown; it is tried again later: %w", s.name, k, r.err)
		}
		// The library tells of the lost connection before it says so to the gate.
		wait(bounded, 5*time.Millisecond)
	}
}

// await has the request sent and waits for the answer, to the end of ctx. Then the
// library still has it, and may even send it; Close waits until it has not.
func await[T any](ctx context.Context, s *store, session *session, k kind, send func(*gozk.Conn) (T, error)) (r reply[T]) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return reply[T]{err: errClosed}
	}
	answer, through := make(chan reply[T], 1), s.through
	s.sent.Go(func() {
		var r reply[T]
		call := func() (err error) {
			r.value, err = send(session.conn)
			return err
		}
		if through != nil {
			r.err = through(k, call)
		} else {
			r.err = call()
		}
		answer <- r
	})
	s.mu.Unlock()
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
func (s *store) explain(k kind, path string, err error) error {
	switch {
	case errors.Is(err, gozk.ErrNoAuth) && s.servers.User == "":
		return fmt.Errorf("%s: %s: no access to %s: its ACL is for a user; give that user and password: %w (%w)", s.name, k, path, claims.ErrRefused, err)
	case errors.Is(err, gozk.ErrNoAuth):
		return fmt.Errorf("%s: %s: no access to %s: its ACL is not for user %q, or the password is another one, which ZooKeeper does not tell apart; "+
			"give the right user and password, or another chroot: %w (%w)", s.name, k, path, s.servers.User, claims.ErrRefused, err)
	case errors.Is(err, gozk.ErrAuthFailed), errors.Is(err, gozk.ErrInvalidACL):
		return fmt.Errorf("%s: %s: the servers do not take a user and password (digest): %w (%w)", s.name, k, claims.ErrRefused, err)
	default:
		return fmt.Errorf("%s: %s: %s: %w", s.name, k, path, err)
	}
}

// each calls f for all of 0 to n-1, several at a time, and returns the first error,
// which ends the context of the others. It calls f for each, so that an error is one
// of f's, which says what failed, also if ctx has ended.
func each(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var first error
	var once sync.Once
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(n, pipelined) {
		workers.Go(func() {
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 {
				if err := f(ctx, int(i)); err != nil {
					once.Do(func() { first = err })
					cancel()
				}
			}
		})
	}
	workers.Wait()
	return first
}

// pipelined is how many requests of one listing are under way at once.
const pipelined = 64
