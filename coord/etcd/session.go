package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
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
func (c *Coordinator) openSession(ctx context.Context) (*session, error) {
	var grant *clientv3.LeaseGrantResponse
	err := c.try(ctx, "grant a session", func(ctx context.Context) (err error) {
		grant, err = c.lease.Grant(ctx, int64(c.ttl/time.Second))
		return err
	})
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	s := &session{id: grant.ID, cancel: cancel, lost: make(chan struct{})}
	s.done.Go(func() { c.keepAlive(life, s) })
	return s, nil
}

// keepAlive returns when life ends or the lease is gone. A keep-alive stream that
// ends says only that this client believes so: after a leader change or an outage
// of the whole cluster the lease is still there, with a full term, and so are the
// claims. So etcd is asked.
func (c *Coordinator) keepAlive(life context.Context, s *session) {
	for life.Err() == nil {
		alive, err := c.lease.KeepAlive(life, s.id)
		if err == nil {
			for range alive {
			}
		}
		gone, err := c.leaseGone(life, s.id)
		switch {
		case life.Err() != nil:
			return
		case gone:
			c.log.Warn("the session has ended: its claims are lost and will be made anew", "lease", int64(s.id))
			close(s.lost)
			return
		case err != nil:
			c.log.Warn("the session cannot be kept alive for now", "error", err)
			pause(life, retryPause)
		}
	}
}

// leaseGone asks etcd whether the lease is gone; an error leaves that open.
func (c *Coordinator) leaseGone(ctx context.Context, id clientv3.LeaseID) (bool, error) {
	gone := false
	err := c.try(ctx, "ask for the session", func(ctx context.Context) error {
		resp, err := c.lease.TimeToLive(ctx, id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
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

// close ends the lease, if etcd can be reached before ctx ends, and waits for the
// goroutine. Safe to call once.
func (s *session) close(ctx context.Context, c *Coordinator) error {
	s.cancel()
	s.done.Wait()
	select {
	case <-s.lost:
		return nil
	default:
	}
	return c.try(ctx, "end the session", func(ctx context.Context) error {
		_, err := c.lease.Revoke(ctx, s.id)
		if errors.Is(err, rpctypes.ErrLeaseNotFound) {
			return nil
		}
		return err
	})
}

// session returns the current session, or a new one if that is lost.
func (c *Coordinator) session(ctx context.Context) (*session, error) {
	if err := c.opening.take(ctx); err != nil {
		return nil, err
	}
	defer c.opening.give()
	c.mu.Lock()
	current, closed := c.current, c.closed
	c.mu.Unlock()
	if closed {
		return nil, errClosed
	}
	if current != nil {
		select {
		case <-current.lost:
			current.cancel()
			current.done.Wait()
		default:
			return current, nil
		}
	}
	fresh, err := c.openSession(ctx)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	closed = c.closed
	if !closed {
		c.current = fresh
	}
	c.mu.Unlock()
	if closed {
		return nil, errors.Join(errClosed, fresh.close(ctx, c))
	}
	return fresh, nil
}

// retire makes the next call of session open a new one: etcd answered that the
// lease of s is not there.
func (c *Coordinator) retire(s *session) {
	c.mu.Lock()
	if c.current == s {
		c.current = nil
	}
	c.mu.Unlock()
	s.cancel()
	s.done.Wait()
}
