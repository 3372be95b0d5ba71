package zk_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	gozk "github.com/go-zookeeper/zk"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/coord/zk/zktest/zkserver"
	"github.com/flakeward/flakeward/internal/must"
)

// remake deletes the layout and nothing else, and makes another, whose version is the
// same. Without a token it has no child.
func (w *fixture) remake(value, token string) {
	w.Helper()
	wipe(w, w.client, w.root+"/layout")
	must.Get(w.client.Create(w.root+"/layout", []byte(value), 0, gozk.WorldACL(gozk.PermAll)))(w)
	if token != "" {
		must.Get(w.client.Create(w.root+"/layout/"+token, nil, 0, gozk.WorldACL(gozk.PermAll)))(w)
	}
}

func (w *fixture) tokens() []string {
	w.Helper()
	must.Do(w, zkserver.CatchUp(w.client))
	names, _, err := w.client.Children(w.root + "/layout")
	must.Do(w, err)
	return names
}

func (w *fixture) coordinator() *zk.Coordinator {
	w.Helper()
	return dial(w, zk.Servers{Addresses: w.e.Addresses(), Chroot: w.root}, zk.Config{Identity: identity()})
}

// A layout that is made anew while all else stays is another cluster's, though it has
// the version and the claims are there.
func TestLayoutMadeAnewAlone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	here := w.coordinator()
	coordtest.Join(t, here, layout)
	claim := claimed(t, here, 0)
	before := w.get("/workers/0000000")
	wipe(t, w.client, w.root+"/layout")
	coordtest.Join(t, w.coordinator(), coord.Layout{Text: "another layout", Workers: 8})
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 5000}); !errors.Is(err, coord.ErrOtherCluster) {
		t.Errorf("extended in a cluster of another UUID and layout: %v", err)
	}
	if now := w.get("/workers/0000000"); now != before {
		t.Errorf("the record was %s, and is %s", before, now)
	}
}

// Marks that are raised when the tree has just been made anew are not those of the
// cluster that is there now.
func TestRaiseThatLandsInAnotherCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	operator, fresh := w.coordinator(), w.coordinator()
	coordtest.Join(t, operator, layout)
	var uuid string
	zk.Intercept(operator, func(k zk.Kind, send func() error) error {
		if k == "replace the layout" {
			wipe(t, w.client, w.root)
			made, err := coordtest.CreateAndJoin(t.Context(), fresh, coord.Layout{Text: "another layout", Workers: 8})
			if err != nil {
				t.Error(err)
			}
			uuid = made.UUID
		}
		return send()
	})
	if _, err := operator.Raise(t.Context(), 10); !errors.Is(err, coord.ErrOtherCluster) {
		t.Errorf("raised: %v", err)
	}
	if now := w.get("/layout"); uuid == "" || !strings.Contains(now, uuid) {
		t.Errorf("the layout is %s, and was made as %s", now, uuid)
	}
}

// The same cluster's layout, put back as it was, is gone on with: as it was saved,
// and by a tool that knows nothing of its child.
func TestLayoutThatIsPutBack(t *testing.T) {
	t.Parallel()
	for name, token := range map[string]string{"with a child": "theirs", "without": ""} {
		w := newFixture(t, zktest.Shared(t))
		here, idle := w.coordinator(), w.coordinator()
		for _, c := range []*zk.Coordinator{here, idle} {
			coordtest.Join(t, c, layout)
		}
		claim := claimed(t, here, 3)
		w.remake(w.get("/layout"), token)
		if err := claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 5000}); err != nil {
			t.Errorf("%s: extend: %v", name, err)
		}
		claimed(t, idle, 4)
		w.remake(w.get("/layout"), token)
		if _, err := idle.Raise(t.Context(), 10); err != nil {
			t.Errorf("%s: raise: %v", name, err)
		}
		if err := claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 6000}); !errors.Is(err, coord.ErrLost) {
			t.Errorf("%s: extended after all marks were raised: %v", name, err)
		}
		if got := w.tokens(); len(got) != 1 || got[0] == token {
			t.Errorf("%s: below the layout are %q", name, got)
		}
	}
}

// A layout without a child gets one before anything is written below it; several are
// as good as one, and only reads make none.
func TestLayoutWithoutAChild(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	_, s := w.open()
	w.join(s)
	w.remake(string(firstLayout), "not-one")
	stores := make([]claims.Store, 8)
	var layout claims.Entry
	for i := range stores {
		_, stores[i] = w.open()
		layout = w.join(stores[i])
		must.Get(stores[i].Claims(t.Context(), layout, true))(t)
	}
	if got := w.tokens(); !slices.Equal(got, []string{"not-one"}) {
		t.Errorf("who only reads has made %q", got)
	}
	var all sync.WaitGroup
	for i, s := range stores {
		all.Go(func() {
			made, err := s.Create(t.Context(), layout, claimant(i))
			if err == nil {
				_, err = s.Write(t.Context(), layout, claims.Write{Doing: "write", Worker: made.Worker, Claim: made.Name, Record: claims.Entry{Value: []byte("one")}})
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	got := w.tokens()
	t.Logf("%d children were made by %d stores at once", len(got)-1, len(stores))
	if len(got) < 2 {
		t.Errorf("below the layout are %q", got)
	}
	if err := w.client.Delete(w.root+"/layout", -1); !errors.Is(err, gozk.ErrNotEmpty) {
		t.Errorf("delete the layout alone: %v", err)
	}
	// The one that a store goes by may be deleted by hand.
	for _, token := range got {
		must.Do(w, w.client.Delete(w.root+"/layout/"+token, -1))
	}
	var moved *claims.MovedError
	if made, err := stores[0].Create(t.Context(), layout, claimant(0)); !errors.As(err, &moved) || !slices.Equal(moved.Found.Value, firstLayout) {
		t.Errorf("%+v, %v; want to be told to try again", made, err)
	}
	w.create(stores[0], layout, 0)
}

// A layout and a child are not taken for one another's if the layout is made anew
// between the reading of the two.
func TestLayoutMadeAnewWhileItIsRead(t *testing.T) {
	t.Parallel()
	const other = `{"layout":"x","uuid":"2"}`
	for _, first := range []zk.Kind{"read the layout", "list what is below the layout"} {
		w := newFixture(t, zktest.Shared(t))
		_, s := w.open()
		layout := w.join(s)
		c, late := w.open()
		var once sync.Once
		read := make(chan struct{})
		zk.Intercept(c, func(k zk.Kind, send func() error) error {
			switch k {
			case first:
				defer once.Do(func() { close(read) })
			case "read the layout", "list what is below the layout":
				<-read
				if w.get("/layout") != other {
					w.remake(other, "tok")
				}
			}
			return send()
		})
		if found, err := late.Look(t.Context()); err != nil || string(found.Value) != other {
			t.Errorf("%s first: the layout is %q, %v", first, found.Value, err)
		}
		var moved *claims.MovedError
		if made, err := late.Create(t.Context(), layout, claimant(3)); !errors.As(err, &moved) {
			t.Errorf("%s first: %+v, %v; want that the layout moved", first, made, err)
		}
		if left := w.claims(); len(left) != 0 {
			t.Errorf("%s first: claims %q in another cluster's tree", first, left)
		}
	}
}

// A backup of the layout is put back, and then raised: it has the version of another change that was
// made since the backup, and is not taken for that.
func TestAChangeAfterARestoreIsAnotherOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	here, operator := w.coordinator(), w.coordinator()
	coordtest.Join(t, here, layout)
	claim := claimed(t, here, 3)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 5000}))
	backup, token := w.get("/layout"), w.tokens()[0]
	must.Get(operator.Inspect(t.Context()))(t)
	must.Do(t, operator.SetWindow(t.Context(), 700))
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 6000}))
	w.remake(backup, token)
	again := w.coordinator()
	must.Get(again.Inspect(t.Context()))(t)
	must.Get(again.Raise(t.Context(), claim.Floor()+9000))(t)
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 7000}); !errors.Is(err, coord.ErrRaised) {
		t.Errorf("a claim of before the raise was extended: %v", err)
	}
	if got := w.tokens(); len(got) != 1 || got[0] == token {
		t.Errorf("the layout has the children %q", got)
	}
}

// What makes a layout one of a kind costs no request.
func TestFenceCostsNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	c, s := w.open()
	layout := w.join(s)
	n := w.create(s, layout, 3).Node
	record := w.write(s, layout, n, claims.Entry{Value: []byte("one")})
	var sent []zk.Kind
	zk.Intercept(c, func(k zk.Kind, send func() error) error {
		sent = append(sent, k)
		return send()
	})
	w.write(s, layout, n, record)
	replaced := must.Get(s.Replace(t.Context(), layout, []byte("raised")))(w)
	record.Version++
	w.write(s, replaced, n, record)
	if want := []zk.Kind{"write", "replace the layout", "write"}; !slices.Equal(sent, want) {
		t.Errorf("sent %q, want %q", sent, want)
	}
}
