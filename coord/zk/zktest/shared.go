package zktest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/need"
)

// pool is the server that all tests of this program share.
var pool struct {
	mu      sync.Mutex
	main    bool // Main is there to end it
	dir     string
	servers *zkserver.Ensemble
}

// Main runs a package's tests and ends the shared server after them. A package whose
// tests call Shared has it as
//
//	func TestMain(m *testing.M) { os.Exit(zktest.Main(m)) }
func Main(m *testing.M) int {
	pool.mu.Lock()
	pool.main = true
	pool.mu.Unlock()
	code := m.Run()
	if err := endShared(); err != nil {
		fmt.Fprintln(os.Stderr, "zktest:", err)
		return max(code, 1)
	}
	return code
}

func endShared() error {
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if pool.servers == nil {
		return nil
	}
	return errors.Join(pool.servers.Close(), os.RemoveAll(pool.dir))
}

// Shared is a server of one member that all tests of this program have together, for
// those that only want a tree: each in a Chroot of its own. The first call starts it,
// Main ends it. If the program ends in another way, the kernel ends the server.
func Shared(t testing.TB) *Ensemble {
	t.Helper()
	need.That(t, zkserver.Installed())
	pool.mu.Lock()
	defer pool.mu.Unlock()
	if !pool.main {
		t.Fatal("zktest.Shared: nobody would end the server: add `func TestMain(m *testing.M) { os.Exit(zktest.Main(m)) }` to this package's tests")
	}
	if pool.servers == nil {
		must.Do(t, startShared())
	}
	return &Ensemble{Ensemble: pool.servers, t: t, shared: true}
}

func startShared() error {
	dir, err := os.MkdirTemp("", "zktest-")
	if err != nil {
		return err
	}
	servers, err := zkserver.New(dir, Options{})
	if err != nil {
		return errors.Join(err, os.RemoveAll(dir))
	}
	// It outlives the test that happens to be the first.
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	if err := servers.Start(ctx); err != nil {
		return errors.Join(err, servers.Close(), os.RemoveAll(dir))
	}
	pool.dir, pool.servers = dir, servers
	return nil
}

var chroots atomic.Int64

// Chroot makes a node that no other test has, and returns its path: /t1, say.
func (e *Ensemble) Chroot() string {
	e.t.Helper()
	path := "/t" + strconv.FormatInt(chroots.Add(1), 10)
	e.try(func(ctx context.Context) error {
		return client(ctx, e.Addresses(), func(c *zk.Conn) error {
			_, err := c.Create(path, nil, 0, zk.WorldACL(zk.PermAll))
			return err
		})
	})
	return path
}

// Client is a session of its own with all members, for tests that look at the tree or
// change it behind somebody's back. It ends with the test.
func (e *Ensemble) Client() *zk.Conn {
	e.t.Helper()
	c := must.Get(zkserver.Connect(e.Addresses()))(e.t)
	e.t.Cleanup(c.Close)
	return c
}

// client has f use a session. The library's calls take no context: at its end the
// session is closed, which ends them.
func client(ctx context.Context, addresses []string, f func(*zk.Conn) error) error {
	c, err := zkserver.Connect(addresses)
	if err != nil {
		return err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, c.Close)()
	return f(c)
}
