package zk_test

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/internal/must"
)

// A follower that was stopped for a while answers with what it knew until it has
// caught up. Whoever asks it must see what others were told meanwhile.
func TestFollowerThatLags(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{Members: 3, Tick: 2 * time.Second})
	follower := (e.Leader() + 1) % 3
	others := []string{e.Addresses()[(follower+1)%3], e.Addresses()[(follower+2)%3]}
	id := identity()
	c, _ := joined(t, zk.Servers{Addresses: e.Addresses()[follower : follower+1]}, zk.Config{Identity: id, Timeout: 30 * time.Second, TryTimeout: 20 * time.Second})
	s := zk.Store(c)
	entry := must.Get(s.Look(t.Context()))(t)
	node := must.Get(s.Create(t.Context(), entry, claimant(3)))(t)
	client, _, err := gozk.Connect(others, 10*time.Second, gozk.WithLogger(quiet{}))
	must.Do(t, err)
	defer client.Close()
	open := gozk.WorldACL(gozk.PermAll)
	for round, ask := range []func(name string) error{
		func(name string) error {
			found, err := s.Claims(t.Context(), entry, true)
			if err != nil || len(found) != 2 {
				return fmt.Errorf("claims %+v, %v", found, err)
			}
			return nil
		},
		func(name string) error {
			found, err := s.Read(t.Context(), entry, claims.HostOf(name))
			if err != nil || found.Version == 0 {
				return fmt.Errorf("host %+v, %v", found, err)
			}
			return nil
		},
		func(string) error {
			found, err := s.Read(t.Context(), entry, claims.RecordOf(node.Worker))
			if err != nil || string(found.Value) != "theirs" {
				return fmt.Errorf("record %+v, %v", found, err)
			}
			return nil
		},
		// The leader judges, and the follower is asked what the leader saw.
		func(name string) error {
			done, err := s.Write(t.Context(), entry, claims.Write{Doing: "write", Worker: node.Worker, Claim: node.Name, Record: claims.Entry{Value: []byte("ours")}})
			if err != nil || done.Stored || string(done.Record.Value) != "theirs" {
				return fmt.Errorf("%+v, %v", done, err)
			}
			return nil
		},
	} {
		e.Pause(follower)
		// Something to catch up with.
		value := make([]byte, 10_000)
		for i := range 20 {
			var ops []any
			for j := range 20 {
				ops = append(ops, &gozk.CreateRequest{Path: fmt.Sprintf("/flakeward/hosts/%d-%d-%d", round, i, j), Data: value, Acl: open})
			}
			must.Get(client.Multi(ops...))(t)
		}
		name := fmt.Sprintf("late%d", round)
		results, err := client.Multi(
			&gozk.CreateRequest{Path: "/flakeward/hosts/" + name, Data: []byte("5"), Acl: open},
			&gozk.CreateRequest{Path: "/flakeward/claims/0000005-" + id.Incarnation + "-" + name + "-", Acl: open, Flags: gozk.FlagEphemeralSequential})
		must.Do(t, err)
		if round == 2 {
			must.Get(client.Create("/flakeward/workers/0000003", []byte("theirs"), 0, open))(t)
		}
		// The request waits in the follower's socket: it is the first that it answers.
		asked := make(chan error, 1)
		go func() { asked <- ask(name) }()
		e.Resume(follower)
		if err := <-asked; err != nil {
			t.Errorf("round %d: the follower shows %v", round, err)
		}
		must.Do(t, client.Delete(results[1].String, -1))
	}
}

// ZooKeeper's own sync is answered by a leader before it has applied all that a follower may have
// told: seen 29 times in 16,000 on a busy machine. So what is asked as of now has a place among the
// writes, which are numbered.
func TestWhatIsReadHasAPlaceAmongTheWrites(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{Members: 1})
	c, _ := joined(t, zk.Servers{Addresses: e.Addresses()}, zk.Config{Identity: identity()})
	s := zk.Store(c)
	entry := must.Get(s.Look(t.Context()))(t)
	client := e.Client()
	written := func() int64 { return must.Get(client.Set("/flakeward/hosts", nil, -1))(t).Mzxid }
	for name, ask := range map[string]func() error{
		"Look":   func() error { _, err := s.Look(t.Context()); return err },
		"Claims": func() error { _, err := s.Claims(t.Context(), entry, true); return err },
		"Read":   func() error { _, err := s.Read(t.Context(), entry, claims.HostOf("a")); return err },
		"Records": func() error {
			return s.Records(t.Context(), entry, 0, func(int, claims.Entry) bool { return true })
		},
		"CatchUp": func() error { return zkserver.CatchUp(client) }, // of other tests
		"Write that is refused": func() error {
			_, err := s.Write(t.Context(), entry, claims.Write{Doing: "write", Worker: 3, Record: claims.Entry{Value: []byte("x"), Version: 9}})
			return err
		},
		"Write in another cluster": func() error {
			other := claims.Entry{Value: []byte("other"), Version: entry.Version}
			_, err := s.Write(t.Context(), other, claims.Write{Doing: "write", Worker: 3, Record: claims.Entry{Value: []byte("x")}})
			if !errors.As(err, new(*claims.MovedError)) {
				return fmt.Errorf("%w, want a MovedError", err)
			}
			return nil
		},
	} {
		before, between := written(), int64(1)
		if strings.HasPrefix(name, "Write") {
			between = 2 // itself, and then what is asked
		}
		must.Do(t, ask())
		if after := written(); after != before+1+between {
			t.Errorf("%s: the writes before and after are number %d and %d, want %d between them", name, before, after, between)
		}
	}
}

type quiet struct{}

func (quiet) Printf(string, ...any) {}

// A session outlives its servers' leader, and a claim with it.
func TestLeaderIsKilled(t *testing.T) {
	t.Parallel()
	e := zktest.Start(t, zktest.Options{Members: 3})
	c, _ := joined(t, zk.Servers{Addresses: e.Addresses()}, zk.Config{})
	claim := claimed(t, c, 3)
	zk.SetTimeout(c, time.Second)
	id := zk.SessionID(c)
	for round := range 3 {
		leader := e.Leader()
		e.Kill(leader)
		start := time.Now()
		eventually(t, "the claim is extended", func() bool {
			err := claim.Extend(t.Context(), coord.Progress{Ceiling: 100})
			if errors.Is(err, coord.ErrLost) {
				t.Fatalf("round %d: %v", round, err)
			}
			return err == nil
		})
		t.Logf("extended %v after the leader was killed", time.Since(start))
		e.Start(leader)
	}
	if got := zk.SessionID(c); got != id {
		t.Errorf("session %x, then %x", id, got)
	}
}

// A server that takes connections and then says nothing is left for another.
func TestServerThatSaysNothing(t *testing.T) {
	t.Parallel()
	e := zktest.Shared(t)
	mute, met := silent(t)
	root := e.Chroot()
	for i := 0; met() == 0; i++ { // the order of the servers is drawn
		if i == 100 {
			t.Fatal("a hundred times the other server was the first")
		}
		c := dial(t, zk.Servers{Addresses: []string{mute, e.Addresses()[0]}, Chroot: root}, zk.Config{Identity: identity(), TryTimeout: 20 * time.Second})
		start := time.Now()
		coordtest.Join(t, c, layout)
		t.Logf("joined after %v", time.Since(start))
	}
}

// silent is the address of a server that takes connections and says nothing on them.
// met is how many it has taken.
func silent(t testing.TB) (address string, met func() int64) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var taken atomic.Int64
	var done sync.WaitGroup
	done.Go(func() {
		var conns []net.Conn
		for {
			conn, err := l.Accept()
			if err != nil {
				break
			}
			taken.Add(1)
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			_ = conn.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		done.Wait()
	})
	return l.Addr().String(), taken.Load
}
