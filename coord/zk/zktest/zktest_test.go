package zktest_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/go-zookeeper/zk"
	"golang.org/x/sync/errgroup"

	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/internal/must"
)

func TestMain(m *testing.M) { os.Exit(zktest.Main(m)) }

// persist tries f again, at most ten times: what is on its way to a member that dies is lost, and a
// round may find none.
func persist(f func() error) (err error) {
	for range 10 {
		if err = f(); !errors.Is(err, zk.ErrConnectionClosed) && !errors.Is(err, zk.ErrNoServer) {
			break
		}
	}
	return err
}

// put creates a node, or gives it another value, through whatever member takes it.
func put(t *testing.T, c *zk.Conn, path, value string) {
	t.Helper()
	err := persist(func() error {
		_, err := c.Create(path, []byte(value), 0, zk.WorldACL(zk.PermAll))
		if errors.Is(err, zk.ErrNodeExists) {
			_, err = c.Set(path, []byte(value), -1)
		}
		return err
	})
	if err != nil {
		t.Fatalf("put %s: %v", path, err)
	}
}

// With ZooKeeper's own sync in place of CatchUp, some of these reads are old.
func TestCaughtUpReadsShowWhatAnotherWasAnswered(t *testing.T) {
	e := zktest.Start(t, zktest.Options{Members: 3})
	leader := e.Leader()
	var all errgroup.Group
	for n := range 16 {
		reader := must.Get(zkserver.Connect(e.Addresses()[leader : leader+1]))(t)
		t.Cleanup(reader.Close)
		follower := (leader + 1 + n%2) % e.Members()
		teller := must.Get(zkserver.Connect(e.Addresses()[follower : follower+1]))(t)
		t.Cleanup(teller.Close)
		path := fmt.Sprintf("/%d", n)
		put(t, teller, path, "0")
		all.Go(func() error {
			for range 400 {
				var stat, seen *zk.Stat
				// A busy machine may lose a connection. What was lost may be written all the same.
				if err := persist(func() (err error) { stat, err = teller.Set(path, nil, -1); return err }); err != nil {
					return err
				}
				err := persist(func() (err error) {
					if err = zkserver.CatchUp(reader); err == nil {
						_, seen, err = reader.Get(path)
					}
					return err
				})
				if err != nil {
					return err
				}
				if seen.Version < stat.Version {
					return fmt.Errorf("the leader shows version %d of %s after a follower's answer of %d", seen.Version, path, stat.Version)
				}
			}
			return nil
		})
	}
	must.Do(t, all.Wait())
}
