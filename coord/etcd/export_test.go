package etcd

import (
	"context"
	"errors"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
)

// Kind is exported to the tests of this package.
type Kind = kind

// The kinds of transactions that tests name.
const (
	KindOpening = kindOpening
	KindExtend  = kindExtend
	KindRelease = kindRelease
	KindCreate  = kindCreate
)

// ErrFault is what a transaction answers that a test made fail.
var ErrFault = errors.New("fault made by the test")

// Intercept makes every transaction of c go through f, which sends it with send.
func Intercept(c *Coordinator, f func(ctx context.Context, k Kind, send func(context.Context) error) error) {
	next := c.commit
	c.commit = func(ctx context.Context, k kind, cmps []clientv3.Cmp, then, otherwise []clientv3.Op) (*clientv3.TxnResponse, error) {
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

// EndSession revokes c's lease behind its back.
func EndSession(ctx context.Context, c *Coordinator, client *clientv3.Client) error {
	c.mu.Lock()
	s := c.current
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	_, err := client.Revoke(ctx, s.id)
	return err
}

// Root returns the root of c's tree.
func (c *Coordinator) Root() string { return c.keys.root }

// SetTimeout bounds each request of c from now on.
func SetTimeout(c *Coordinator, d time.Duration) { c.timeout = d }

// WrapLease replaces c's lease client.
func WrapLease(c *Coordinator, wrap func(clientv3.Lease) clientv3.Lease) { c.lease = wrap(c.lease) }

// SessionLost is closed when c knows that its session has ended.
func SessionLost(c *Coordinator) <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.current.lost
}
