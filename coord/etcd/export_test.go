package etcd

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Kind is exported to the tests of this package.
type Kind = kind

// The kinds of transactions that tests name.
const (
	KindOpening Kind = "open a record"
	KindCreate       = kindCreate
)

// ErrFault is what a transaction answers that a test made fail.
var ErrFault = errors.New("fault made by the test")

// Intercept makes every transaction of c go through f, which sends it with send.
func Intercept(c *Coordinator, f func(ctx context.Context, k Kind, send func(context.Context) error) error) {
	next := c.store.commit
	c.store.commit = func(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
		var resp *clientv3.TxnResponse
		err := f(ctx, k, func(ctx context.Context) (err error) {
			resp, err = next(ctx, k, cmps, then, otherwise)
			return err
		})
		if err != nil {
			return nil, err
		}
		return resp, nil
	}
}

// Faults makes single transactions fail.
type Faults struct {
	mu       sync.Mutex
	armed    bool
	after    int
	landed   bool
	happened bool
}

// Watch makes c's transactions subject to f.
func (f *Faults) Watch(c *Coordinator) {
	Intercept(c, func(ctx context.Context, _ Kind, send func(context.Context) error) error {
		fails, landed := f.next()
		if fails && !landed {
			return ErrFault
		}
		if err := send(ctx); err != nil || !fails {
			return err
		}
		return ErrFault
	})
}

func (f *Faults) next() (fails, landed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return false, false
	}
	if f.after--; f.after >= 0 {
		return false, false
	}
	f.armed, f.happened = false, true
	return true, f.landed
}

// Arm makes the transaction after n others fail.
func (f *Faults) Arm(n int, landed bool) (happened func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.after, f.landed, f.happened = true, n, landed, false
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.happened
	}
}

// WatchLease makes what c asks of leases subject to f too. It comes before c opens a
// session.
func (f *Faults) WatchLease(c *Coordinator) { c.store.lease = faultyLease{c.store.lease, f} }

// faultyLease loses requests about leases, and replies to them.
type faultyLease struct {
	clientv3.Lease
	faults *Faults
}

func (l faultyLease) Grant(ctx context.Context, ttl int64) (*clientv3.LeaseGrantResponse, error) {
	return lose(l.faults, func() (*clientv3.LeaseGrantResponse, error) { return l.Lease.Grant(ctx, ttl) })
}

func (l faultyLease) TimeToLive(ctx context.Context, id clientv3.LeaseID, opts ...clientv3.LeaseOption) (*clientv3.LeaseTimeToLiveResponse, error) {
	return lose(l.faults, func() (*clientv3.LeaseTimeToLiveResponse, error) { return l.Lease.TimeToLive(ctx, id, opts...) })
}

func (l faultyLease) Revoke(ctx context.Context, id clientv3.LeaseID) (*clientv3.LeaseRevokeResponse, error) {
	return lose(l.faults, func() (*clientv3.LeaseRevokeResponse, error) { return l.Lease.Revoke(ctx, id) })
}

func lose[R any](f *Faults, send func() (*R, error)) (*R, error) {
	fails, landed := f.next()
	if fails && !landed {
		return nil, ErrFault
	}
	resp, err := send()
	if err == nil && fails {
		return nil, ErrFault
	}
	return resp, err
}

// Delays holds single transactions back.
type Delays struct {
	mu    sync.Mutex
	armed bool
	after int
	held  chan struct{}
	late  func(context.Context) error
}

// Watch makes c's transactions subject to d.
func (d *Delays) Watch(c *Coordinator) {
	Intercept(c, func(ctx context.Context, _ Kind, send func(context.Context) error) error {
		if !d.hold(send) {
			return send(ctx)
		}
		<-ctx.Done()
		return ctx.Err()
	})
}

func (d *Delays) hold(send func(context.Context) error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return false
	}
	if d.after--; d.after >= 0 {
		return false
	}
	d.armed, d.late = false, send
	close(d.held)
	return true
}

// Arm holds the transaction after n others back.
func (d *Delays) Arm(t testing.TB, n int) (held <-chan struct{}, release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.after, d.held = true, n, make(chan struct{})
	return d.held, func() {
		d.mu.Lock()
		late := d.late
		d.mu.Unlock()
		// A session that has ended is the servers' answer.
		if err := late(t.Context()); err != nil && !errors.Is(err, rpctypes.ErrLeaseNotFound) {
			t.Errorf("what was held back: %v", err)
		}
	}
}

// EndSession revokes c's lease behind its back.
func EndSession(ctx context.Context, c *Coordinator, client *clientv3.Client) error {
	c.store.mu.Lock()
	s := c.store.current
	c.store.mu.Unlock()
	if s == nil {
		return nil
	}
	if _, err := client.Revoke(ctx, s.id); !errors.Is(err, rpctypes.ErrLeaseNotFound) {
		return err
	}
	return nil
}

// Root returns the root of c's tree.
func (c *Coordinator) Root() string { return c.store.keys.root }

// SetTimeout bounds each request of c from now on.
func SetTimeout(c *Coordinator, d time.Duration) { c.store.timeout = d }

// WrapLease replaces c's lease client.
func WrapLease(c *Coordinator, wrap func(clientv3.Lease) clientv3.Lease) {
	c.store.lease = wrap(c.store.lease)
}

// SessionLost is closed when c knows that its session has ended.
func SessionLost(c *Coordinator) <-chan struct{} {
	c.store.mu.Lock()
	defer c.store.mu.Unlock()
	return c.store.current.lost
}
