package zk_test

import (
	"errors"
	"strings"
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
// same, with a child unless it is to be without.
func (w *fixture) remake(value string, child bool) {
	w.Helper()
	wipe(w, w.client, w.root+"/layout")
	must.Get(w.client.Create(w.root+"/layout", []byte(value), 0, gozk.WorldACL(gozk.PermAll)))(w)
	if child {
		must.Get(w.client.Create(w.root+"/layout/"+zk.TokenOf(value), nil, 0, gozk.WorldACL(gozk.PermAll)))(w)
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

// The same cluster's layout, put back as it was, is gone on with. Without its child it is refused
// by name, and what the error says helps.
func TestLayoutThatIsPutBack(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	here, operator := w.coordinator(), w.coordinator()
	coordtest.Join(t, here, layout)
	must.Get(operator.Inspect(t.Context()))(t)
	claim := claimed(t, here, 3)
	saved := w.get("/layout")
	w.remake(saved, true)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 5000}))
	w.remake(saved, false)
	for name, call := range map[string]func() error{
		"Extend": func() error { return claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 6000}) },
		"Claim":  func() error { _, err := here.Claim(t.Context(), coord.Request{Worker: 4}); return err },
		"Raise":  func() error { _, err := operator.Raise(t.Context(), 10); return err },
	} {
		if err := call(); !errors.Is(err, claims.ErrRefused) || !strings.Contains(err.Error(), w.root+"/layout/"+zk.TokenOf(saved)) {
			t.Errorf("%s without the child: %v", name, err)
		}
	}
	w.remake(saved, true)
	must.Get(operator.Raise(t.Context(), 10))(t)
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 6000}); !errors.Is(err, coord.ErrLost) {
		t.Errorf("extended after all marks were raised: %v", err)
	}
	if got := w.tokens(); len(got) != 1 || got[0] == zk.TokenOf(saved) {
		t.Errorf("below the layout are %q", got)
	}
}

// A backup of the layout is put back, and then raised: it has the version of another change that
// was made since the backup, and is not taken for that.
func TestAChangeAfterARestoreIsAnotherOne(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	here, operator := w.coordinator(), w.coordinator()
	coordtest.Join(t, here, layout)
	claim := claimed(t, here, 3)
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 5000}))
	backup := w.get("/layout")
	must.Get(operator.Inspect(t.Context()))(t)
	must.Do(t, operator.SetWindow(t.Context(), 700))
	must.Do(t, claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 6000}))
	w.remake(backup, true)
	again := w.coordinator()
	must.Get(again.Inspect(t.Context()))(t)
	must.Get(again.Raise(t.Context(), claim.Floor()+9000))(t)
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: claim.Floor() + 7000}); !errors.Is(err, coord.ErrRaised) {
		t.Errorf("a claim of before the raise was extended: %v", err)
	}
	if got := w.tokens(); len(got) != 1 || got[0] != zk.TokenOf(w.get("/layout")) {
		t.Errorf("the layout has the children %q", got)
	}
}
