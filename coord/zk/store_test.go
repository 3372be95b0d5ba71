package zk_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/internal/must"
)

// fixture is one tree with a cluster record, and a client that acts behind the stores' backs.
type fixture struct {
	testing.TB
	e      *zktest.Ensemble
	root   string
	client *gozk.Conn
}

func newFixture(t testing.TB, e *zktest.Ensemble) *fixture {
	return &fixture{TB: t, e: e, root: e.Chroot(), client: e.Client()}
}

// open opens one more store.
func (w *fixture) open() (*zk.Coordinator, claims.Store) {
	w.Helper()
	c := dial(w, zk.Servers{Addresses: w.e.Addresses(), Chroot: w.root}, zk.Config{Identity: coord.Identity{Incarnation: rand.Text()}})
	return c, zk.Store(c)
}

var firstLayout = []byte(`{"layout":"x","uuid":"1"}`)

func (w *fixture) join(s claims.Store) claims.Entry {
	w.Helper()
	return must.Get(s.Make(w.Context(), firstLayout))(w)
}

func claimant(worker int) claims.Node {
	return claims.Node{Name: claims.Pad(worker) + "-" + rand.Text() + "-" + rand.Text(), Worker: worker, Value: []byte("{}")}
}

func (w *fixture) create(s claims.Store, layout claims.Entry, worker int) claims.Created {
	w.Helper()
	return must.Get(s.Create(w.Context(), layout, claimant(worker)))(w)
}

// write stores a record as the claim.
func (w *fixture) write(s claims.Store, layout claims.Entry, n claims.Node, record claims.Entry) claims.Entry {
	w.Helper()
	done, err := s.Write(w.Context(), layout, claims.Write{Doing: "write", Worker: n.Worker, Claim: n.Name, Record: record})
	if err != nil || !done.Stored {
		w.Fatalf("write: %+v, %v", done, err)
	}
	return done.Record
}

func (w *fixture) set(path, value string) {
	w.Helper()
	must.Get(w.client.Set(w.root+path, []byte(value), -1))(w)
}

func (w *fixture) get(path string) string {
	w.Helper()
	value, _, err := w.client.Get(w.root + path)
	must.Do(w, err)
	return string(value)
}

func (w *fixture) claims() []string {
	w.Helper()
	must.Do(w, zkserver.CatchUp(w.client))
	names, _, err := w.client.Children(w.root + "/claims")
	must.Do(w, err)
	return names
}

// makeAnew wipes the tree and makes one whose versions are the same.
func (w *fixture) makeAnew() {
	w.Helper()
	wipe(w, w.client, w.root)
	_, s := w.open()
	must.Get(s.Make(w.Context(), []byte(`{"layout":"x","uuid":"2"}`)))(w)
}

// A failed Multi says which operation failed; each stands for something else.
func TestFailedWritesAreToldApart(t *testing.T) {
	t.Parallel()
	moved := "moved to "
	for _, c := range []struct {
		name   string
		change func(w *fixture, n claims.Node)
		want   string
	}{
		{"nothing", func(*fixture, claims.Node) {}, "stored as 3, claimed true"},
		{"layout replaced", func(w *fixture, _ claims.Node) { w.set("/layout", "other") }, moved + "2 other"},
		{"layout gone", func(w *fixture, _ claims.Node) { wipe(w, w.client, w.root+"/layout") }, moved + "0 "},
		{"cluster record created again", func(w *fixture, _ claims.Node) { w.remake(`{"layout":"x","uuid":"2"}`, true) }, moved + `1 {"layout":"x","uuid":"2"}`},
		{"layout put back", func(w *fixture, _ claims.Node) { w.remake(string(firstLayout), true) }, "stored as 3, claimed true"},
		{"made anew", func(w *fixture, _ claims.Node) { w.makeAnew() }, moved + `1 {"layout":"x","uuid":"2"}`},
		{"claim gone", func(w *fixture, n claims.Node) { must.Do(w, w.client.Delete(w.root+"/claims/"+n.Name, -1)) }, "stored as 3, claimed false"},
		{"record changed", func(w *fixture, _ claims.Node) { w.set("/workers/0000003", "theirs") }, "record 3 theirs, claimed true"},
		{"record gone", func(w *fixture, _ claims.Node) { must.Do(w, w.client.Delete(w.root+"/workers/0000003", -1)) }, "record 0 , claimed true"},
		{"history changed", func(w *fixture, _ claims.Node) {
			must.Get(w.client.Create(w.root+"/history/0000003", []byte("theirs"), 0, gozk.WorldACL(gozk.PermAll)))(w)
		}, "record 2 two, claimed true"},
		{"both gone", func(w *fixture, n claims.Node) {
			w.set("/workers/0000003", "theirs")
			must.Do(w, w.client.Delete(w.root+"/claims/"+n.Name, -1))
		}, "record 3 theirs, claimed false"},
		{"claim and folders gone", func(w *fixture, n claims.Node) {
			must.Do(w, w.client.Delete(w.root+"/claims/"+n.Name, -1))
			must.Do(w, w.client.Delete(w.root+"/history", -1))
		}, "stored as 3, claimed false"},
		{"folders gone", func(w *fixture, _ claims.Node) { must.Do(w, w.client.Delete(w.root+"/history", -1)) }, "stored as 3, claimed true"},
	} {
		for _, release := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, release %v", c.name, release), func(t *testing.T) {
				w := newFixture(t, zktest.Shared(t))
				_, s := w.open()
				layout := w.join(s)
				n := w.create(s, layout, 3).Node
				record := w.write(s, layout, n, claims.Entry{Value: []byte("one")})
				record.Value = []byte("two")
				record = w.write(s, layout, n, record)
				c.change(w, n)
				record.Value = []byte("three")
				done, err := s.Write(t.Context(), layout, claims.Write{
					Doing: "write", Worker: 3, Claim: n.Name, Record: record, History: claims.Entry{Value: []byte("ours")}, Delete: release,
				})
				var m *claims.MovedError
				var got string
				switch {
				case errors.As(err, &m):
					got = fmt.Sprintf("%s%d %s", moved, m.Found.Version, m.Found.Value)
				case err != nil:
					got = err.Error()
				case done.Stored:
					got = fmt.Sprintf("stored as %d, claimed %v", done.Record.Version, done.Claimed)
					if w.get("/workers/0000003") != "three" || w.get("/history/0000003") != "ours" {
						t.Error("not all of it was stored")
					}
					if left := slices.Contains(w.claims(), n.Name); left != (done.Claimed && !release) {
						t.Errorf("the claim is left: %v", left)
					}
				default:
					got = fmt.Sprintf("record %d %s, claimed %v", done.Record.Version, done.Record.Value, done.Claimed)
				}
				if got != c.want {
					t.Errorf("%s, want %s", got, c.want)
				}
			})
		}
	}
}

// The owner is who was created first, by the number that ZooKeeper has given, whatever the names
// are.
func TestOwnerIsTheFirstCreated(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	_, s := w.open()
	layout := w.join(s)
	first, second := w.create(s, layout, 3), w.create(s, layout, 3)
	if len(first.Before) != 0 || len(second.Before) != 1 || second.Before[0].Name != first.Name || second.Created <= first.Created {
		t.Errorf("the first %+v, the second %+v", first, second)
	}
	for _, n := range []claims.Created{first, second} {
		must.Do(w, s.Delete(t.Context(), n.Name))
	}
	must.Do(w, w.client.Delete(w.root+"/claims", -1))
	if again := w.create(s, layout, 3); again.Created != 0 || len(again.Before) != 0 { // it makes claims/ too
		t.Errorf("%+v", again)
	}
	for _, name := range []string{"0000006-aa-tok-0000009999", "0000006-zz-tok-0000000000", "0000005-aa-tok-0000000000"} {
		must.Get(w.client.Create(w.root+"/claims/"+name, nil, gozk.FlagEphemeral, gozk.WorldACL(gozk.PermAll)))(w)
	}
	if late := w.create(s, layout, 6); len(late.Before) != 1 || late.Before[0].Incarnation != "zz" {
		t.Errorf("before the next %+v", late.Before)
	}
	// Numbers have 32 bits and a sign, and some versions give the last one again and again. Of two
	// with one number each comes after the other.
	counted := []string{"0000007-aa-d-2147483646", "0000007-aa-c-2147483647", "0000007-aa-b-2147483647", "0000007-aa-a--2147483648"}
	for _, name := range counted {
		must.Get(w.client.Create(w.root+"/claims/"+name, nil, gozk.FlagEphemeral, gozk.WorldACL(gozk.PermAll)))(w)
	}
	for i, want := range []int{0, 2, 2, 3} {
		if before, err := zk.Rivals(t.Context(), s, counted[i]); err != nil || len(before) != want {
			t.Errorf("before %s are %+v, %v; want %d", counted[i], before, err, want)
		}
	}
}

// Numbers follow one another, also where somebody has deleted what they are counted by.
func TestNumbers(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	_, s := w.open()
	layout := w.join(s)
	for range 2 {
		for want := range uint64(3) {
			if got, err := s.Number(t.Context(), layout); err != nil || got != want {
				t.Errorf("number %d, %v; want %d", got, err, want)
			}
		}
		must.Do(w, w.client.Delete(w.root+"/claims", -1))
	}
}
