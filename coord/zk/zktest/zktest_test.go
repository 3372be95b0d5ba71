package zktest_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

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

// get is the node's value, or "none".
func get(t *testing.T, c *zk.Conn, path string) string {
	t.Helper()
	value, _, err := c.Get(path)
	if errors.Is(err, zk.ErrNoNode) {
		return "none"
	}
	if err != nil {
		t.Fatalf("get %s: %v", path, err)
	}
	return string(value)
}

func expect(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: %q, want %q", what, got, want)
	}
}

func TestOneServer(t *testing.T) {
	began := time.Now()
	e := zktest.Start(t, zktest.Options{})
	t.Logf("up in %v", time.Since(began))
	put(t, e.Client(), "/a", "1")

	e.Kill()
	if e.Running(0) {
		t.Error("a killed server runs")
	}
	e.Start()
	expect(t, "after a kill", get(t, e.Client(), "/a"), "1")

	e.Stop()
	old := e.Backup()
	e.Start()
	put(t, e.Client(), "/a", "2")
	e.Stop()
	e.Restore(old)
	e.Start()
	expect(t, "restored from a backup", get(t, e.Client(), "/a"), "1")

	e.Stop()
	e.Wipe()
	e.Start()
	expect(t, "wiped", get(t, e.Client(), "/a"), "none")
}

func TestEnsemble(t *testing.T) {
	began := time.Now()
	e := zktest.Start(t, zktest.Options{Members: 3})
	t.Logf("three up in %v", time.Since(began))
	c := e.Client()
	put(t, c, "/a", "1")

	first := e.Leader()
	began = time.Now()
	e.Kill(first)
	second := e.Leader()
	t.Logf("another leads after %v", time.Since(began))
	if second == first {
		t.Fatalf("server %d was killed and leads", first)
	}
	put(t, c, "/a", "2")
	e.Start(first)

	began = time.Now()
	e.Pause(second)
	third := e.Leader()
	t.Logf("another leads %v after a pause", time.Since(began))
	if third == second {
		t.Fatalf("server %d is paused and leads", second)
	}
	put(t, c, "/a", "3")
	e.Resume(second)
	e.Ready()
	if leader := e.Leader(); leader != third {
		t.Errorf("server %d leads, want %d as before the resume", leader, third)
	}

	e.Stop()
	old := e.Backup()
	e.Wipe()
	e.Start()
	expect(t, "wiped", get(t, e.Client(), "/a"), "none")
	e.Stop()
	e.Restore(old)
	e.Start()
	expect(t, "restored", get(t, e.Client(), "/a"), "3")
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

func TestSharedServer(t *testing.T) {
	one, two := zktest.Shared(t), zktest.Shared(t)
	if one.Addresses()[0] != two.Addresses()[0] {
		t.Errorf("two shared servers: %v and %v", one.Addresses(), two.Addresses())
	}
	a, b := one.Chroot(), two.Chroot()
	if a == b {
		t.Errorf("two tests with one tree: %s", a)
	}
	put(t, one.Client(), a+"/x", "1")
	expect(t, "another's tree", get(t, two.Client(), b+"/x"), "none")
}

func TestSessionBounds(t *testing.T) {
	e := zktest.Start(t, zktest.Options{MinSession: 700 * time.Millisecond})
	answer := e.Word(0, "conf")
	for _, want := range []string{"minSessionTimeout=700", "maxSessionTimeout=120000", "tickTime=500"} {
		if !strings.Contains(answer, want+"\n") {
			t.Errorf("no %s in\n%s", want, answer)
		}
	}
}
