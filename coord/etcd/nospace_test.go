package etcd_test

import (
	"errors"
	"strings"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/coord/etcd/embedded"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// fill writes history until the quota is used up.
func fill(t *testing.T, s *embedded.Server) {
	t.Helper()
	junk := strings.Repeat("x", 64<<10)
	for range 10_000 {
		_, err := s.Client().Put(t.Context(), "/junk", junk)
		if errors.Is(err, rpctypes.ErrNoSpace) {
			return
		}
		must.Do(t, err)
	}
	t.Fatal("the quota was never used up; the case is void")
}

// NOSPACE: the embedded server's quota is reached for real, again and again, and
// neither a grant, nor a claim, nor a session fails.
func TestScheduleNOSPACE(t *testing.T) {
	s := startEmbedded(t, embedded.Config{Quota: 1 << 20})
	tr := tree{t, s}
	c := tr.daemon("a")
	claim := tr.claim(c, want(0, "", 0))
	for i := range 3 {
		fill(t, s)
		ceiling := generator.Tick(100 * (i + 1))
		tr.extend(claim, coord.Progress{Ceiling: ceiling})
		m, err := c.Members(t.Context())
		if err != nil || len(m) != 1 || m[0].Ceiling != ceiling {
			t.Fatalf("round %d: stored %+v (%v), want the ceiling %d", i, m, err, ceiling)
		}
	}
	fill(t, s)
	late := tr.daemon("b")
	if got := tr.claim(late, want(1, "", 0)); got.Worker() != 1 {
		t.Errorf("worker ID %d, want 1", got.Worker())
	}
	fill(t, s)
	if err := claim.Release(t.Context(), 5); err != nil {
		t.Errorf("Release: %v", err)
	}
}

// Where nobody may make room, the error says what to do, and the claim is kept.
func TestNoSpaceElsewhere(t *testing.T) {
	s := startEmbedded(t, embedded.Config{Quota: 1 << 20})
	c, err := etcd.New(s.Client(), etcd.Config{Identity: coord.Identity{Incarnation: "a"}, Where: "h1:2379"})
	must.Do(t, err)
	defer c.Close()
	must.Get(c.Join(t.Context(), coord.Layout{Text: "layout", Workers: 8}))(t)
	claim := tree{t, s}.claim(c, want(0, "", 0))
	fill(t, s)
	err = claim.Extend(t.Context(), coord.Progress{Ceiling: 10})
	if err == nil || errors.Is(err, coord.ErrLost) || !strings.Contains(err.Error(), "h1:2379") || !strings.Contains(err.Error(), "quota") {
		t.Errorf("Extend: %v; want an error that names the server and its quota", err)
	}
	must.Do(t, s.MakeRoom(t.Context()))
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 10}); err != nil {
		t.Errorf("Extend after there was room again: %v", err)
	}
}
