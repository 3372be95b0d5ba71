package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/claims"
)

// session is one lease, kept alive by a goroutine of its own until close or
// until etcd no longer knows the lease.
type session struct {
	id     clientv3.LeaseID
	cancel context.CancelFunc
	lost   chan struct{} // closed when etcd said that the lease is gone
	done   sync.WaitGroup
}

// openSession grants a lease and keeps it alive. ctx bounds the grant only.
func (s *store) openSession(ctx context.Context) (*session, error) {
	var grant *clientv3.LeaseGrantResponse
	err := s.try(ctx, "grant a session", func(ctx context.Context) (err error) {
		grant, err = s.lease.Grant(ctx, int64(s.ttl/time.Second))
		return err
	})
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	ses := &session{id: grant.ID, cancel: cancel, lost: make(chan struct{})}
	ses.done.Go(func() { s.keepAlive(life, ses) })
	return ses, nil
}

// leaseGone asks etcd whether the lease is gone; an error leaves that open.
func (s *store) leaseGone(ctx context.Context, id clientv3.LeaseID) (bool, error) {
	gone := false
	err := s.try(ctx, "ask for the session", func(ctx context.Context) error {
		resp, err := s.lease.TimeToLive(ctx, id)
		if isLeaseGone(err) {
			gone = true
			return nil
		}
		if err == nil {
			gone = resp.TTL < 0
		}
		return err
	})
	return gone, err
}

func isLeaseGone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// close ends the lease, if etcd can be reached before ctx ends, and waits for the
// goroutine. Safe to call once.
func (s *session) close(ctx context.Context, st *store) error {
	s.detach()
	select {
	case <-s.lost:
		return nil
	default:
	}
	return st.try(ctx, "end the session", func(ctx context.Context) error {
		_, err := st.lease.Revoke(ctx, s.id)
		if isLeaseGone(err) {
			return nil
		}
		return err
	})
}

// detach stops the renewals and waits for the goroutine. It leaves the lease as it is.
func (s *session) detach() {
	s.cancel()
	s.done.Wait()
}

// session returns the current session, or a new one if that is lost.
func (s *store) session(ctx context.Context) (*session, error) {
	if err := s.opening.Take(ctx); err != nil {
		return nil, err
	}
	defer s.opening.Give()
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if err := s.errClosed(); err != nil {
		return nil, err
	}
	if current != nil {
		select {
		case <-current.lost:
			current.detach()
		default:
			return current, nil
		}
	}
	fresh, err := s.openSession(ctx)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	closed, detached := s.closed, s.detached
	if !closed {
		s.current = fresh
	}
	s.mu.Unlock()
	switch {
	case detached:
		fresh.detach()
		return nil, s.errClosed()
	case closed:
		return nil, errors.Join(s.errClosed(), fresh.close(ctx, s))
	}
	return fresh, nil
}

// retire makes the next call of session open a new one: etcd answered that the
// lease of s is not there.
func (s *store) retire(ses *session) {
	s.mu.Lock()
	if s.current == ses {
		s.current = nil
	}
	s.mu.Unlock()
	ses.detach()
}

// Own implements claims.Store: the nodes are those attached to the lease, which
// etcd's leader tells. A lease that was lost before has none.
func (s *store) Own(ctx context.Context) ([]claims.Node, error) {
	s.mu.Lock()
	current := s.current
	s.mu.Unlock()
	if current == nil {
		return nil, nil
	}
	var keys [][]byte
	err := s.try(ctx, "list the session's claims", func(ctx context.Context) error {
		resp, err := s.lease.TimeToLive(ctx, current.id, clientv3.WithAttachedKeys())
		if err == nil {
			keys = resp.Keys
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	var own []claims.Node
	for _, key := range keys {
		if n, ok := s.Parse(s.keys.nameOf(string(key))); ok {
			own = append(own, n)
		}
	}
	return own, nil
}
