package grant_test

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/faultproxy"
)

func TestMain(m *testing.M) { os.Exit(zktest.Main(m)) }

// zkTree is a chroot on the server that all tests here share, a proxy before it, and a way around
// that.
type zkTree struct {
	root    string
	session time.Duration
	proxy   *faultproxy.Proxy
	conn    *gozk.Conn
}

func newZooKeeper(t *testing.T, session time.Duration) *zkTree {
	t.Helper()
	e := zktest.Shared(t)
	return &zkTree{root: e.Chroot(), session: session, proxy: faultproxy.Listen(t, e.Addresses()[0]), conn: e.Client()}
}

func (z *zkTree) open(identity coord.Identity) (coord.Coordinator, error) {
	return zk.Dial(zk.Servers{Addresses: []string{z.proxy.Address()}, Chroot: z.root}, zk.Config{Timeout: z.session, Identity: identity})
}

func (z *zkTree) claim(name string) string { return z.root + "/claims/" + name }

func (z *zkTree) claims(context.Context) ([]string, error) {
	names, _, err := z.conn.Children(z.root + "/claims")
	return names, err
}

func (z *zkTree) revoke(_ context.Context, claim string) error {
	path := z.claim(claim)
	_, stat, err := z.conn.Get(path)
	if err != nil {
		return err
	}
	return z.conn.Delete(path, stat.Version)
}

func (z *zkTree) expire(ctx context.Context, claim string) error {
	there, _, changed, err := z.conn.ExistsW(z.claim(claim))
	if err != nil {
		return err
	}
	if !there {
		return errNoSuchClaim
	}
	z.proxy.CutAll()
	defer z.proxy.Open()
	select {
	case e := <-changed:
		if e.Type != gozk.EventNodeDeleted {
			return errors.New("the claim's node is watched no more: " + e.Type.String())
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (z *zkTree) hang()   { z.proxy.Hang() }
func (z *zkTree) arrive() { z.proxy.Open() }
func (z *zkTree) hangs() bool {
	const ping = 12 // bytes, as a session sends now and then
	return z.proxy.Kept() > 2*ping
}

// wipe replaces the tree in one step, as an operator does who deletes it before any daemon can
// answer.
func (z *zkTree) wipe(ctx context.Context) error { return z.replace(ctx, nil) }

// zkNode is a node of a backup.
type zkNode struct {
	path  string
	value []byte
}

// walk lists all that is below path, parents before children.
func (z *zkTree) walk(path string, ephemeral bool) ([]zkNode, error) {
	names, _, err := z.conn.Children(path)
	if err != nil {
		return nil, err
	}
	var nodes []zkNode
	for _, name := range names {
		child := path + "/" + name
		value, stat, err := z.conn.Get(child)
		if err != nil {
			return nil, err
		}
		if stat.EphemeralOwner != 0 && !ephemeral {
			continue
		}
		below, err := z.walk(child, ephemeral)
		if err != nil {
			return nil, err
		}
		nodes = append(append(nodes, zkNode{child, value}), below...)
	}
	return nodes, nil
}

func (z *zkTree) save(context.Context) (func(context.Context) error, error) {
	saved, err := z.walk(z.root, false)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context) error { return z.replace(ctx, saved) }, nil
}

// replace puts saved in the place of all that is below the root, in one step.
func (z *zkTree) replace(ctx context.Context, saved []zkNode) error {
	for ctx.Err() == nil {
		there, err := z.walk(z.root, true)
		if err != nil {
			return err
		}
		var steps []any
		for i := len(there) - 1; i >= 0; i-- {
			steps = append(steps, &gozk.DeleteRequest{Path: there[i].path, Version: -1})
		}
		for _, n := range saved {
			steps = append(steps, &gozk.CreateRequest{Path: n.path, Data: n.value, Acl: gozk.WorldACL(gozk.PermAll)})
		}
		_, err = z.conn.Multi(steps...)
		if err == nil || !errors.Is(err, gozk.ErrNoNode) && !errors.Is(err, gozk.ErrNotEmpty) {
			return err // else something came or went meanwhile
		}
	}
	return ctx.Err()
}
