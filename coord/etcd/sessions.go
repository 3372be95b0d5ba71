package etcd

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// closeTimeout bounds the end of the lease. It is short, for a lease that is not
// ended expires.
const closeTimeout = time.Second

// sessions opens the client, if it is the store's own, and one session after the other.
type sessions struct {
	client *client
	ttl    time.Duration
	log    hclog.Logger
	growth growth
	// expired is called when a session has expired.
	expired func()
	dial    func() (*clientv3.Client, error) // nil if there is a client

	opening mutex.Mutex      // held while a client is made or a session opened
	own     *clientv3.Client // made by dial

	mu      sync.Mutex
	current *session
	closed  bool
}

// connect makes the client if there is none yet.
func (s *sessions) connect(ctx context.Context) error {
	if err := s.opening.LockContext(ctx); err != nil {
		return err
	}
	defer s.opening.Unlock()
	if err := s.errClosed(); err != nil {
		return err
	}
	if s.client.lease != nil {
		return nil
	}
	own, err := s.dial()
	if err != nil {
		return fmt.Errorf("%s: make a client: %w", s.client.name, err)
	}
	s.own = own
	s.client.use(own)
	return nil
}

// get returns the current session, or a new one if that is lost.
func (s *sessions) get(ctx context.Context) (*session, error) {
	if err := s.opening.LockContext(ctx); err != nil {
		return nil, err
	}
	defer s.opening.Unlock()
	if err := s.errClosed(); err != nil {
		return nil, err
	}
	if current := s.last(); current != nil {
		select {
		case <-current.lost:
			current.stop()
		default:
			return current, nil
		}
	}
	fresh, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	closed := s.closed
	if !closed {
		s.current = fresh
	}
	s.mu.Unlock()
	if closed {
		return nil, errors.Join(s.errClosed(), fresh.close(ctx))
	}
	return fresh, nil
}

// open grants a lease and keeps it alive. ctx bounds the grant only.
func (s *sessions) open(ctx context.Context) (*session, error) {
	var grant *clientv3.LeaseGrantResponse
	err := s.client.try(ctx, "grant a session", func(ctx context.Context) (err error) {
		grant, err = s.client.lease.Grant(ctx, int64(s.ttl/time.Second))
		return err
	})
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	opened := &session{client: s.client, id: grant.ID, ttl: s.ttl, log: s.log, growth: &s.growth, expired: s.expired, cancel: cancel, lost: make(chan struct{})}
	opened.done.Go(func() { opened.keepAlive(life) })
	return opened, nil
}

// last returns the session that was opened last; nil if there is none.
func (s *sessions) last() *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// retire makes the next get open a new session: etcd answered that the lease of this
// one is not there.
func (s *sessions) retire(gone *session) {
	s.mu.Lock()
	if s.current == gone {
		s.current = nil
	}
	s.mu.Unlock()
	gone.stop()
}

// finish has the session ended, and then the client.
func (s *sessions) finish() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	// A session that is being opened sees closed and ends itself.
	s.opening.Lock()
	defer s.opening.Unlock()
	var err error
	if current := s.last(); current != nil {
		s.retire(current)
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		err = current.close(ctx)
	}
	if s.own != nil {
		// The client's own context ends with it, which is all that it reports.
		if closing := s.own.Close(); !errors.Is(closing, context.Canceled) {
			err = errors.Join(err, closing)
		}
		s.own = nil
	}
	return err
}

// errClosed returns coord.ErrClosed after Close.
func (s *sessions) errClosed() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		return nil
	}
	return fmt.Errorf("%s: %w", s.client.name, coord.ErrClosed)
}

// Close implements claims.Store. If the lease cannot be ended within a second, the
// claims are freed when it expires.
func (s *store) Close() error { return s.sessions.finish() }
