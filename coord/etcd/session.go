package etcd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/internal/probe"
)

// session is one lease, kept alive by a goroutine of its own until close or
// until etcd no longer knows the lease.
type session struct {
	client *client
	id     clientv3.LeaseID
	ttl    time.Duration
	log    hclog.Logger
	growth *growth
	// expired is called after lost was closed.
	expired func()
	cancel  context.CancelFunc
	lost    chan struct{} // closed when etcd said that the lease is gone
	done    sync.WaitGroup
}

// gone asks etcd whether the lease is gone; an error leaves that open.
func (s *session) gone(ctx context.Context) (gone bool, err error) {
	err = s.client.try(ctx, "ask for the session", func(ctx context.Context) error {
		resp, err := s.client.lease.TimeToLive(ctx, s.id)
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

// close stops the renewals and ends the lease, if etcd can be reached before ctx ends.
func (s *session) close(ctx context.Context) error {
	s.stop()
	select {
	case <-s.lost:
		return nil
	default:
	}
	return s.client.try(ctx, "end the session", func(ctx context.Context) error {
		_, err := s.client.lease.Revoke(ctx, s.id)
		if isLeaseGone(err) {
			return nil
		}
		return err
	})
}

// stop stops the renewals and waits for the goroutine. It leaves the lease as it is.
func (s *session) stop() {
	s.cancel()
	s.done.Wait()
}

// The times of a session, as parts of its lease's time to live. A renewal is sent a
// third after the one before was sent, whenever that was answered, and an answer is
// waited for a fifth: so the lease outlives two members that hang, one after the
// other (1/3 + 2/5 + 2/20 < 1).
const (
	renewals = 3
	timeout  = 5
	retries  = 20 // the pause after a renewal that failed
)

// keepAlive renews the lease until life ends or etcd says that it is gone.
//
// The client library has a keep-alive of its own, which this does without. It
// counts a lease's deadline from when an answer came in, so an answer that was long
// on its way makes it believe in a lease that etcd has ended; and it renews over a
// stream that it gives up only when its connection fails, which a member that hangs
// takes longer to show than a lease lives. The first would not matter here: nothing
// that is issued or written depends on the lease, or on what this side believes of
// it. The second would
// cost the worker ID for no reason.
//
// A stream that ends says nothing of the lease: after a leader change or an outage of
// the whole cluster the lease is still there, with a full term, and so are the claims.
func (s *session) keepAlive(life context.Context) {
	failing := false
	renewed := func() {
		if failing {
			s.log.Info("renewed the coordinator session again")
		}
		failing = false
		s.growth.look(life)
	}
	due := clock.Now().Mono + clockguard.Mono(s.ttl/renewals)
	for life.Err() == nil {
		ended, err := s.renew(life, &due, renewed)
		if life.Err() != nil {
			return
		}
		if ended {
			// It must be so by the leader's word, too.
			gone, asking := s.gone(life)
			if gone {
				s.log.Warn("the coordinator session expired: claiming again", "lease", int64(s.id))
				close(s.lost)
				s.expired()
				return
			}
			err = asking
		}
		if err != nil && !failing {
			failing = true
			s.log.Warn("cannot renew the coordinator session; retrying", "error", err)
		}
		pause(life, s.ttl/retries)
	}
}

// renew renews the lease over one stream, beginning when it is due, until an answer
// is late or the stream fails, or the answer is that the lease has ended.
func (s *session) renew(life context.Context, due *clockguard.Mono, renewed func()) (ended bool, err error) {
	pause(life, time.Duration(*due-clock.Now().Mono))
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	limit := s.ttl / timeout
	var ask func() (ttl int64, err error)
	for life.Err() == nil {
		sent := clock.Now().Mono
		// Whatever is waited for is given up by ending the stream.
		waited, done := context.WithTimeout(ctx, limit)
		stop := context.AfterFunc(waited, cancel)
		silence := probe.Watch(waited, func(ctx context.Context) error { return s.client.servers.unwell(ctx, true) })
		var ttl int64
		if ask == nil {
			ask, err = s.renewer(ctx)
		}
		if err == nil {
			ttl, err = ask()
		}
		if err != nil {
			if waited.Err() == nil {
				err = s.client.refusal(s.client.why(waited, rpctypes.Error(err)))
			} else if err = silence.Why(); err == nil { // there was no time for it
				err = fmt.Errorf("no answer within %v", limit)
			}
			err = fmt.Errorf("%s: renew the session: %w", s.client.name, err)
		}
		silence.Stop()
		stop()
		done()
		switch {
		case err != nil:
			return false, err
		case ttl <= 0:
			return true, nil
		}
		renewed()
		*due = sent + clockguard.Mono(s.ttl/renewals)
		pause(life, time.Duration(*due-clock.Now().Mono))
	}
	return false, life.Err()
}

// renewer opens a stream and returns what renews the lease over it.
func (s *session) renewer(ctx context.Context) (func() (ttl int64, err error), error) {
	// Etcd looks at a stream's token with each renewal since 3.7, and at none before: there a lease
	// lives on whatever has become of the password.
	var stream etcdserverpb.Lease_LeaseKeepAliveClient
	var sent *token
	open := func() (err error) {
		sent = s.client.login.last()
		stream, err = etcdserverpb.NewLeaseClient(s.client.conn).LeaseKeepAlive(clientv3.WithRequireLeader(sent.with(ctx)), grpc.WaitForReady(true))
		return err
	}
	ask := func() (ttl int64, err error) {
		if err = stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(s.id)}); err != nil && err != io.EOF { // that of Recv says why
			return 0, err
		}
		resp, err := stream.Recv()
		return resp.GetTTL(), err
	}
	if err := open(); err != nil {
		return nil, err
	}
	return func() (ttl int64, err error) {
		for range mostTokens {
			if ttl, err = ask(); s.client.login == nil || !ended(err) {
				break
			}
			// Another request may have logged in since, and that token may have ended as well.
			if refused := s.client.login.anew(ctx, sent); refused != nil {
				return 0, refused
			}
			if failed := open(); failed != nil {
				return 0, failed
			}
		}
		return ttl, err
	}, nil
}

// pause waits for d or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
}
