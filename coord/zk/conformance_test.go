package zk_test

import (
	"context"
	"errors"
	"flag"
	"strings"
	"testing"
	"time"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// harness is a kit's harness on one tree.
type harness struct {
	e     *zktest.Ensemble
	root  string
	lines map[coord.Coordinator]*zk.Line
}

func newHarness(e *zktest.Ensemble) *harness {
	return &harness{e: e, root: e.Chroot(), lines: map[coord.Coordinator]*zk.Line{}}
}

func (h *harness) kit() coordtest.Harness {
	return coordtest.Harness{Open: h.open, Revoke: h.revoke, Wipe: h.wipe, Save: h.save}
}

func (h *harness) open(t testing.TB, identity coord.Identity, wire *coordtest.Wire) coord.Coordinator {
	t.Helper()
	c := dial(t, zk.Servers{Addresses: h.e.Addresses(), Chroot: h.root}, zk.Config{Identity: identity, TryTimeout: tryTimeout})
	h.lines[c] = &zk.Line{}
	h.lines[c].Tap(c)
	zk.Watch(c, wire)
	return c
}

// tryTimeout bounds a request to servers that may be busy with much else. No case waits for it to
// run out.
const tryTimeout = 20 * time.Second

// dial opens a coordinator that is closed with the test.
func dial(t testing.TB, servers zk.Servers, config zk.Config) *zk.Coordinator {
	t.Helper()
	c := must.Get(zk.Dial(servers, config))(t)
	t.Cleanup(func() { _ = c.Close() }) // the test may have ended the servers
	return c
}

func (h *harness) revoke(t testing.TB, c coord.Coordinator) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	// As with any server that ends a session: what was under way is in doubt, what comes next waits
	// for the next session.
	if err := h.lines[c].EndSession(ctx, c.(*zk.Coordinator)); err != nil {
		t.Fatalf("revoke: %v", err)
	}
}

func (h *harness) wipe(t testing.TB) {
	t.Helper()
	if wipe(t, h.e.Client(), h.root) < 2 {
		t.Fatal("wipe: there was nothing")
	}
}

// wipe deletes a tree and returns how many nodes it had.
func wipe(t testing.TB, c *gozk.Conn, path string) int {
	t.Helper()
	names, _, err := c.Children(path)
	if err != nil {
		t.Fatalf("wipe %s: %v", path, err)
	}
	n := 1
	for _, name := range names {
		n += wipe(t, c, path+"/"+name)
	}
	err = c.Delete(path, -1)
	if errors.Is(err, gozk.ErrNotEmpty) { // the member that was asked for the children lagged
		return n - 1 + wipe(t, c, path)
	}
	if err != nil {
		t.Fatalf("wipe %s: %v", path, err)
	}
	return n
}

// save keeps all nodes. They are made anew, so their versions begin at 0, and none is ephemeral.
func (h *harness) save(t testing.TB) (restore func()) {
	t.Helper()
	var again []any
	var walk func(path string)
	walk = func(path string) {
		value, _, err := h.e.Client().Get(path)
		must.Do(t, err)
		again = append(again, &gozk.CreateRequest{Path: path, Data: value, Acl: gozk.WorldACL(gozk.PermAll)})
		names, _, err := h.e.Client().Children(path)
		must.Do(t, err)
		for _, name := range names {
			walk(path + "/" + name)
		}
	}
	walk(h.root)
	return func() {
		t.Helper()
		h.wipe(t)
		must.Get(h.e.Client().Multi(again...))(t)
	}
}

// halting is the case that ends its servers, and so has its own.
const halting = "context: also when no server answers"

func TestConformanceEnsemble(t *testing.T) {
	t.Parallel()
	// A follower that a busy disk holds up stays in the ensemble for half a minute: the kit loses
	// no server.
	e := zktest.Start(t, zktest.Options{Members: 3, Config: map[string]string{"syncLimit": "60"}})
	halted := 0
	coordtest.Run(t, func(t *testing.T) coordtest.Harness {
		if !strings.HasSuffix(t.Name(), strings.ReplaceAll(halting, " ", "_")) {
			return newHarness(e).kit()
		}
		own := zktest.Start(t, zktest.Options{})
		kit := newHarness(own).kit()
		kit.Halt = func(testing.TB) {
			halted++
			own.Kill()
		}
		return kit
	})
	whole := !strings.Contains(flag.Lookup("test.run").Value.String(), "/")
	if whole && !t.Failed() && halted != 1 {
		t.Errorf("%d cases have ended their servers, want one", halted)
	}
}
