package etcd

import (
	"context"
	"errors"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord/coordtest"
)

// Kind is exported to the tests of this package.
type Kind = kind

// The kinds of transactions that tests name.
const (
	KindOpening Kind = "open a record"
	KindGrowth       = kindGrowth
)

// Intercept makes every request of c, but the renewals of its session, go through f, which sends it
// with send.
func Intercept(c *Coordinator, f func(ctx context.Context, k Kind, send func(context.Context) error) error) {
	next := c.store.client.through
	c.store.client.through = func(ctx context.Context, k kind, send func(context.Context) error) error {
		return f(ctx, k, func(ctx context.Context) error {
			if next == nil {
				return send(ctx)
			}
			return next(ctx, k, send)
		})
	}
}

// SetManyRevisions sets from how many revisions on etcd is asked whether it compacts them. It comes
// before c opens a session.
func SetManyRevisions(c *Coordinator, n int64) { c.store.sessions.growth.next = n }

// LookAtGrowth has c look at etcd's revisions, as after a renewal. It comes after c is closed.
func LookAtGrowth(ctx context.Context, c *Coordinator) { c.store.sessions.growth.look(ctx) }

// Watch has c's transactions go over the wire, and what it asks of leases be subject to its faults.
// It comes before c opens a session. The caller of a transaction that is held back waits until its
// context ends.
func Watch(c *Coordinator, wire *coordtest.Wire) {
	Intercept(c, func(ctx context.Context, k Kind, send func(context.Context) error) error {
		if k == kindGrant || k == kindEnd {
			return wire.Faults.Send(func() error { return send(ctx) })
		}
		if ctx.Err() != nil {
			return send(ctx)
		}
		sent := make(chan error, 1)
		go func() {
			sent <- wire.Send(nil, func() error {
				if ctx.Err() != nil { // it was held back until its caller had gone
					return send(context.WithoutCancel(ctx))
				}
				return send(ctx)
			})
		}()
		select {
		case err := <-sent:
			return err
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

// EndSession revokes c's lease behind its back.
func EndSession(ctx context.Context, c *Coordinator, client *clientv3.Client) error {
	s := c.store.sessions.current.Load()
	if s == nil {
		return nil
	}
	if _, err := client.Revoke(ctx, s.id); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	return nil
}

// Root returns the root of c's tree.
func (c *Coordinator) Root() string { return c.store.root }

// Lease returns the lease of c's session; 0 if it has none.
func Lease(c *Coordinator) clientv3.LeaseID {
	if s := c.store.sessions.current.Load(); s != nil {
		return s.id
	}
	return 0
}
