package zk_test

import (
	"crypto/rand"
	"errors"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/internal/must"
)

// Another operator who moves the same record deletes the claim as soon as it is made.
func TestWhoseClaimAnotherMoverDeletesLooksAnew(t *testing.T) {
	t.Parallel()
	w := newFixture(t, zktest.Shared(t))
	c, s := w.open()
	w.join(s)
	m := c.Mover()
	was := must.Get(m.Place(t.Context()))(t)
	at := was
	at.Stage, at.Move, at.Peer = coord.Closed, rand.Text(), "etcd://elsewhere"
	must.Do(t, m.Change(t.Context(), was, at))
	deleted := 0
	zk.Intercept(c, func(k zk.Kind, send func() error) error {
		err := send()
		if k == "create a claim" && deleted == 0 {
			names, _, _ := w.client.Children(w.root + "/claims")
			for _, name := range names {
				err = errors.Join(err, w.client.Delete(w.root+"/claims/"+name, -1))
				deleted++
			}
		}
		return err
	})
	err := m.Store(t.Context(), at, coord.Copy{Worker: 3, Record: []byte("{}")})
	if deleted != 1 || !errors.Is(err, coord.ErrRaced) || !errors.Is(err, claims.ErrGone) {
		t.Errorf("%d claims deleted: %v; want one, ErrRaced and the reason", deleted, err)
	}
}
