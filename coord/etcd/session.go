package etcd

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// closeTimeout bounds the end of the lease. It is short, for a lease that is not ended expires.
const closeTimeout = time.Second

// sessions opens one session after the other, and ends the client if it is the store's own.
type sessions struct {
	client *client
	own    *clientv3.Client // nil: it is somebody else's
	ttl    time.Duration
	log    hclog.Logger
	growth growth
	// expired is called when a session has expired.
	expired func()

	opening  mutex.Mutex // held while a session is opened
	current  atomic.Pointer[session]
	renewing sync.WaitGroup
}

// session is one lease, kept alive by a goroutine of its own until etcd no longer knows it.
type session struct {
	id     clientv3.LeaseID
	cancel context.CancelFunc // of the renewals
}

// get returns the current session, or a new one if there is none.
func (s *sessions) get(ctx context.Context) (*session, error) {
	if err := s.opening.LockContext(ctx); err != nil {
		return nil, err
	}
	defer s.opening.Unlock()
	if current := s.current.Load(); current != nil {
		return current, nil
	}
	return s.open(ctx)
}

// open grants a lease and keeps it alive. ctx bounds the grant only.
func (s *sessions) open(ctx context.Context) (*session, error) {
	var grant *clientv3.LeaseGrantResponse
	err := s.client.try(ctx, kindGrant, func(ctx context.Context) (err error) {
		grant, err = s.client.library.Grant(ctx, int64(s.ttl/time.Second))
		return err
	})
	if err != nil {
		return nil, err
	}
	life, cancel := context.WithCancel(context.Background())
	opened := &session{grant.ID, cancel}
	s.current.Store(opened)
	s.renewing.Go(func() { s.keepAlive(life, opened) })
	return opened, nil
}

// retire makes the next get open a new session: etcd answered that the lease of this
// one is not there.
func (s *sessions) retire(gone *session) {
	s.current.CompareAndSwap(gone, nil)
	gone.cancel()
}

// The times of a session, as parts of its lease's time to live. A renewal is sent a
// third after the one before was sent, whenever that was answered, and an answer is
// waited for a fifth: so the lease outlives two that fail (1/3 + 2/5 + 2/20 < 1).
const (
	renewals = 3
	timeout  = 5
	retries  = 20 // the pause after a renewal that failed
)

// keepAlive renews a lease until life ends or etcd says that it is gone. Nothing that is issued or
// written depends on the lease, or on what this side believes of it.
//
// The client library has a session of its own, which this does without. It renews over one stream
// that it gives up only when its connection fails, which a member that hangs takes longer to show
// than a lease lives. It takes a lease for lost that it could not renew in time, though after an
// outage of the whole cluster the lease is there, with a full term. It tells nobody why it cannot
// renew. And it does not log in: etcd looks at the token of a renewal since 3.7.
func (s *sessions) keepAlive(life context.Context, held *session) {
	failing := false
	for next := s.ttl / renewals; ; {
		pause(life, next)
		sent := clock.Now().Mono
		err := s.renew(life, held.id)
		switch {
		case life.Err() != nil:
			return
		case isLeaseGone(err):
			s.log.Warn("the coordinator session expired: claiming again", "lease", int64(held.id))
			s.retire(held)
			s.expired()
			return
		case err != nil:
			if !failing {
				s.log.Warn("cannot renew the coordinator session; retrying", "error", err)
			}
			failing, next = true, s.ttl/retries
		default:
			if failing {
				s.log.Info("renewed the coordinator session again")
			}
			s.growth.look(life)
			failing, next = false, s.ttl/renewals-time.Duration(clock.Now().Mono-sent)
		}
	}
}

// renew renews a lease once. Etcd looks at the stream's token with each renewal since 3.7, and at
// none before: there a lease lives on whatever has become of the password.
func (s *sessions) renew(ctx context.Context, id clientv3.LeaseID) error {
	return s.client.within(ctx, s.ttl/timeout, kindRenew, func(ctx context.Context) error {
		return s.client.login.with(ctx, func(ctx context.Context) error {
			_, err := s.client.library.KeepAliveOnce(clientv3.WithRequireLeader(ctx), id)
			if errors.Is(err, io.EOF) { // it was refused before it was sent, and the library has not read why
				_, err = s.client.library.KeepAliveOnce(clientv3.WithRequireLeader(ctx), id)
			}
			return err
		})
	})
}

func isLeaseGone(err error) bool { return errors.Is(err, rpctypes.ErrLeaseNotFound) }

// Close implements claims.Store. If the lease cannot be ended within a second, the
// claims are freed when it expires.
func (s *store) Close() error { return s.sessions.finish() }

// finish has the session ended, and then the client.
func (s *sessions) finish() error {
	s.opening.Lock() // a session that is being opened is ended as well
	defer s.opening.Unlock()
	var err error
	if current := s.current.Load(); current != nil {
		s.retire(current)
		ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
		defer cancel()
		err = s.client.try(ctx, kindEnd, func(ctx context.Context) error {
			_, err := s.client.library.Revoke(ctx, current.id)
			if isLeaseGone(err) {
				return nil
			}
			return err
		})
	}
	s.client.closed.Store(true)
	s.renewing.Wait()
	if s.own != nil {
		// The client's own context ends with it, which is all that it reports.
		if closing := s.own.Close(); !errors.Is(closing, context.Canceled) {
			err = errors.Join(err, closing)
		}
		s.own = nil
	}
	return err
}
