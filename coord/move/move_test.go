package move_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd/etcdtest"
	"github.com/flakeward/flakeward/coord/move"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestMain(m *testing.M) { os.Exit(zktest.Main(m)) }

// servers give URLs of empty trees.
type servers map[string]func() string

func start(t *testing.T) servers {
	t.Helper()
	e, z := etcdtest.Start(t, etcdtest.Options{}), zktest.Shared(t)
	return servers{
		"etcd":      func() string { return e.URL(rand.Text()) },
		"ZooKeeper": func() string { return "zk://" + strings.Join(z.Addresses(), ",") + z.Chroot() },
	}
}

// bothWays runs a test in both directions.
func bothWays(t *testing.T, test func(t *testing.T, from, to func() string)) {
	t.Helper()
	all := start(t)
	t.Run("etcd to ZooKeeper", func(t *testing.T) { test(t, all["etcd"], all["ZooKeeper"]) })
	t.Run("ZooKeeper to etcd", func(t *testing.T) { test(t, all["ZooKeeper"], all["etcd"]) })
}

var layout = coord.Layout{Text: "time=41@1ms,worker=10,sequence=12;epoch=2026-01-01T00:00:00Z", Workers: 8}

// daemon opens a coordinator as a daemon does.
func daemon(t *testing.T, url string) coord.Coordinator {
	t.Helper()
	c := must.Get(connect.Open(t.Context(), connect.Config{URL: url, Identity: coord.Identity{Host: "h", Incarnation: rand.Text()}}))(t)
	t.Cleanup(func() { _ = c.Close() }) // a test may have closed it
	return c
}

func claim(t *testing.T, c coord.Coordinator, r coord.Request) (coord.Claim, error) {
	t.Helper()
	if _, err := c.Join(t.Context(), layout); err != nil {
		return nil, err
	}
	r.Latest = 1 << 40
	return coordtest.Claim(t.Context(), c, r)
}

func side(t *testing.T, url string) move.Side {
	t.Helper()
	o := must.Get(connect.Operate(t.Context(), connect.Config{URL: url}))(t)
	t.Cleanup(func() { _ = o.Close() }) // nothing depends on it
	return move.Side{Mover: o.(coord.Movable).Mover(), URL: url}
}

func between(t *testing.T, from, to string) move.Move {
	t.Helper()
	return move.Move{From: side(t, from), To: side(t, to), ID: rand.Text()}
}

// fixture is a cluster with two holders.
type fixture struct {
	*testing.T
	from, to string
	source   coord.Coordinator
	claims   []coord.Claim
	granted  generator.Tick // to both holders, as acknowledged
}

func newFixture(t *testing.T, from, to string) *fixture {
	t.Helper()
	f := &fixture{T: t, from: from, to: to, source: daemon(t, from)}
	for worker := range 2 {
		c := must.Get(claim(t, f.source, coord.Request{Worker: worker}))(t)
		f.claims = append(f.claims, c)
	}
	if !f.extended() {
		t.Fatal("the source grants nothing")
	}
	return f
}

// extended has the source grant more, and reports whether it does.
func (f *fixture) extended() bool {
	for _, c := range f.claims {
		if c.Extend(f.Context(), coord.Progress{Ceiling: f.granted + 1000, Mark: 500}) != nil {
			return false
		}
	}
	f.granted += 1000
	return true
}

// judge finds what both coordinators could grant.
func (f *fixture) judge(what string) {
	f.Helper()
	there := daemon(f.T, f.to)
	place := must.Get(side(f.T, f.to).Place(f.Context()))(f)
	if place.Stage == coord.Absent {
		return // a daemon would make a cluster of its own, with another UUID
	}
	stranger, err := claim(f.T, there, coord.Request{Worker: 1})
	if err != nil {
		return
	}
	if f.extended() {
		f.Errorf("%s: both coordinators grant", what)
	}
	if stranger.Worker() != 1 || stranger.Floor() < f.granted {
		f.Errorf("%s: worker ID %d begins above %d there, and was granted up to %d", what, stranger.Worker(), stranger.Floor(), f.granted)
	}
	must.Do(f, stranger.Release(f.Context(), stranger.Floor()))
}

// moved checks what a move has come to.
func (f *fixture) moved(what string) {
	f.Helper()
	if f.extended() {
		f.Errorf("%s: the source grants after the move", what)
	}
	back, err := claim(f.T, daemon(f.T, f.to), coord.Request{Worker: 0, Opening: f.claims[0].Opening(), Mark: 500})
	if err != nil {
		f.Fatalf("%s: %v", what, err)
	}
	if back.Worker() != 0 || !back.Continues() {
		f.Errorf("%s: the holder got worker ID %d, continues %v; want 0, true", what, back.Worker(), back.Continues())
	}
	f.judge(what)
}

// A move that is cut at any of its writes grants nothing twice, and is gone on with, or taken back.
func TestCutAtEachWrite(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to func() string) {
		cuts, aborts := 0, 0
		for n := 0; ; n++ {
			happened := false
			for _, landed := range []bool{false, true} {
				what := fmt.Sprintf("write %d, landed %v", n, landed)
				f := newFixture(t, from(), to())
				cut, m := coordtest.NewCut(n, landed), between(t, f.from, f.to)
				m.From.Mover, m.To.Mover = cut.Side(m.From.Mover), cut.Side(m.To.Mover)
				_, err := m.Run(t.Context())
				if happened = cut.Happened(); happened != errors.Is(err, coordtest.ErrFault) {
					t.Fatalf("%s: %v", what, err)
				}
				f.judge(what)
				again := between(t, f.from, f.to)
				if happened && landed == (n%2 == 0) {
					aborted, err := again.Abort(t.Context())
					if refused := (*move.RefusedError)(nil); err != nil && !errors.As(err, &refused) {
						t.Fatalf("%s: %v", what, err)
					}
					if aborted {
						aborts++
					}
					if err == nil && !f.extended() {
						t.Errorf("%s: taken back, the source does not grant", what)
					}
					f.judge(what + ", taken back")
				}
				if _, err := again.Run(t.Context()); err != nil {
					t.Fatalf("%s: again: %v", what, err)
				}
				f.moved(what)
				if happened {
					cuts++
				}
			}
			if !happened {
				break
			}
		}
		t.Logf("%d cuts, %d of them taken back", cuts, aborts)
		if cuts < 12 || aborts < 2 {
			t.Errorf("%d cuts, %d taken back: the test shows nothing", cuts, aborts)
		}
	})
}

// failing is a side at which the record of worker ID 1 cannot be written. That of worker ID 0 is
// being written then, and goes on when the move has begun to end for it, which the reading of that
// of worker ID 2 shows.
type failing struct {
	coord.Mover
	begun, ending chan struct{}
}

func (m failing) History(ctx context.Context, at coord.Place, c coord.Copy) (coord.Copy, error) {
	if c.Worker == 2 {
		<-ctx.Done()
		close(m.ending)
	}
	return m.Mover.History(ctx, at, c)
}

func (m failing) Store(ctx context.Context, at coord.Place, c coord.Copy) error {
	if c.Worker == 1 {
		<-m.begun
		return coordtest.ErrFault
	}
	close(m.begun)
	<-m.ending
	return m.Mover.Store(ctx, at, c)
}

// A record that is being written when another cannot be is written whole.
func TestOneFails(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to func() string) {
		f := newFixture(t, from(), to())
		must.Get(claim(t, f.source, coord.Request{Worker: 2}))(t)
		m, begun, ending := between(t, f.from, f.to), make(chan struct{}), make(chan struct{})
		m.From.Mover, m.To.Mover = failing{m.From.Mover, begun, ending}, failing{m.To.Mover, begun, ending}
		if r, err := m.Run(t.Context()); !errors.Is(err, coordtest.ErrFault) || r.Written != 1 {
			t.Errorf("%+v, %v; want 1 record written, and ErrFault", r, err)
		}
		if r, err := between(t, f.from, f.to).Run(t.Context()); err != nil || r.Written != 2 {
			t.Errorf("again: %+v, %v; want 2 records written", r, err)
		}
		f.moved("at the end")
	})
}

// A cluster goes there and back again, and what was granted elsewhere meanwhile counts.
func TestThereAndBack(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to func() string) {
		f := newFixture(t, from(), to())
		must.Get(between(t, f.from, f.to).Run(t.Context()))(t)
		c := must.Get(claim(t, daemon(t, f.to), coord.Request{Worker: 1}))(t)
		must.Do(t, c.Extend(t.Context(), coord.Progress{Ceiling: 77_000}))
		r, err := between(t, f.to, f.from).Run(t.Context())
		if err != nil || r.Records != 2 || r.Written != 1 || r.Ends != 77_000 {
			t.Errorf("back: %+v, %v; want 2 records, 1 of them written, held up to 77000", r, err)
		}
		if err := f.claims[1].Extend(t.Context(), coord.Progress{Ceiling: 90_000}); !errors.Is(err, coord.ErrLost) {
			t.Errorf("who held it before: %v, want ErrLost", err)
		}
		if back, err := claim(t, daemon(t, f.from), coord.Request{Worker: 1}); err != nil || back.Worker() != 1 || back.Floor() < 77_000 {
			t.Errorf("back: %v, %+v; want worker ID 1 above 77000: no claim of before bars it", err, back)
		}
	})
}

// What cannot be moved is refused, and nothing is written.
func TestRefused(t *testing.T) {
	bothWays(t, func(t *testing.T, from, to func() string) {
		refused := func(what string, m move.Move) {
			t.Helper()
			_, err := m.Run(t.Context())
			if e := (*move.RefusedError)(nil); !errors.As(err, &e) {
				t.Errorf("%s: %v, want *RefusedError", what, err)
			}
		}
		refused("no cluster", between(t, from(), to()))
		f, other := newFixture(t, from(), to()), newFixture(t, to(), "")
		refused("the target has a cluster", between(t, f.from, other.from))
		refused("to itself", between(t, f.from, f.from))
		if !f.extended() || !other.extended() {
			t.Error("one of them grants no more")
		}
		cut, m := coordtest.NewCut(2, false), between(t, f.from, f.to)
		m.From.Mover, m.To.Mover = cut.Side(m.From.Mover), cut.Side(m.To.Mover)
		_, err := m.Run(t.Context())
		must.Fail(t, err, coordtest.ErrFault)
		refused("a move elsewhere was begun", between(t, f.from, to()))
		refused("from where it is moved to", between(t, f.to, from()))
		must.Get(between(t, f.from, f.to).Run(t.Context()))(t)
		refused("it was moved elsewhere", between(t, f.from, to()))
		if _, err := between(t, f.from, f.to).Abort(t.Context()); err == nil {
			t.Error("it was taken back after it had been moved")
		}
		f.moved("at the end")
	})
}
