package etcd

import (
	"context"
	"fmt"
	"time"

	"go.etcd.io/etcd/api/v3/etcdserverpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"

	"github.com/flakeward/flakeward/clockguard"
)

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
// it, for each write is fenced in etcd by the claim's node itself. The second would
// cost the worker ID for no reason.
//
// A stream that ends says nothing of the lease: after a leader change or an outage of
// the whole cluster the lease is still there, with a full term, and so are the claims.
func (s *store) keepAlive(life context.Context, ses *session) {
	troubled := false
	told := func(err error) {
		if !troubled {
			s.log.Warn("the session cannot be kept alive for now; trying on", "error", err)
		}
		troubled = true
	}
	renewed := func() {
		if troubled {
			s.log.Info("the session is kept alive again")
		}
		troubled = false
	}
	due := clock.Now().Mono + clockguard.Mono(s.ttl/renewals)
	for life.Err() == nil {
		ended, err := s.renew(life, ses.id, &due, renewed)
		if life.Err() != nil {
			return
		}
		if ended {
			// It must be so by the leader's word, too.
			gone, asking := s.leaseGone(life, ses.id)
			if gone {
				s.log.Warn("the session has ended: its claims are lost and will be made anew", "lease", int64(ses.id))
				close(ses.lost)
				return
			}
			err = asking
		}
		if err != nil {
			told(err)
		}
		pause(life, s.ttl/retries)
	}
}

// renew renews the lease over one stream, beginning when it is due, until an answer
// is late or the stream fails, or the answer is that the lease has ended.
func (s *store) renew(life context.Context, id clientv3.LeaseID, due *clockguard.Mono, renewed func()) (ended bool, err error) {
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
		var ttl int64
		if ask == nil {
			ask, err = s.renewer(ctx, id)
		}
		if err == nil {
			ttl, err = ask()
		}
		late := waited.Err() != nil
		stop()
		done()
		switch {
		case err != nil && late:
			return false, fmt.Errorf("%s: renew the session: no answer within %v", s.Name(), limit)
		case err != nil:
			return false, fmt.Errorf("%s: renew the session: %w", s.Name(), s.refusal(rpctypes.Error(err)))
		case ttl <= 0:
			return true, nil
		}
		renewed()
		*due = sent + clockguard.Mono(s.ttl/renewals)
		pause(life, time.Duration(*due-clock.Now().Mono))
	}
	return false, life.Err()
}

// renewer opens a stream and returns what renews a lease over it.
func (s *store) renewer(ctx context.Context, id clientv3.LeaseID) (func() (ttl int64, err error), error) {
	if s.conn == nil {
		// A client of a server in this process has no connection, and opening a
		// stream costs it nothing.
		return func() (int64, error) {
			resp, err := s.lease.KeepAliveOnce(ctx, id)
			if isLeaseGone(err) {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
			return resp.TTL, nil
		}, nil
	}
	stream, err := etcdserverpb.NewLeaseClient(s.conn).LeaseKeepAlive(clientv3.WithRequireLeader(ctx), grpc.WaitForReady(true))
	if err != nil {
		return nil, err
	}
	return func() (int64, error) {
		if err := stream.Send(&etcdserverpb.LeaseKeepAliveRequest{ID: int64(id)}); err != nil {
			return 0, err
		}
		resp, err := stream.Recv()
		return resp.GetTTL(), err
	}, nil
}
