package etcd_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/etcd"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func (tr tree) backup() string {
	tr.StopAll()
	backup := tr.Backup()
	tr.StartAll()
	return backup
}

func (tr tree) restore(backup string) {
	tr.StopAll()
	tr.Restore(backup)
	tr.StartAll()
}

// Etcd is restored under a daemon: that is told from a loss, whichever call finds it out; nothing
// of the daemon's stays there, and only a new start that follows a raise goes on.
func TestRestoredFromABackup(t *testing.T) {
	t.Parallel()
	calls := []struct {
		name string
		run  func(c *etcd.Coordinator, claim coord.Claim) error
	}{
		{"Extend", func(_ *etcd.Coordinator, claim coord.Claim) error {
			return claim.Extend(t.Context(), coord.Progress{Ceiling: 500})
		}},
		{"Release", func(_ *etcd.Coordinator, claim coord.Claim) error {
			return claim.Release(t.Context(), coordtest.Closed(20))
		}},
		{"Claim", func(c *etcd.Coordinator, claim coord.Claim) error {
			_, err := c.Claim(t.Context(), want(1))
			return err
		}},
		{"Claim, fresh", func(c *etcd.Coordinator, _ coord.Claim) error {
			_, err := c.Claim(t.Context(), coord.Request{Fresh: true, Latest: 9000})
			return err
		}},
		{"Members", func(c *etcd.Coordinator, _ coord.Claim) error { _, err := c.Members(t.Context()); return err }},
		{"Join", func(c *etcd.Coordinator, _ coord.Claim) error {
			_, err := c.Join(t.Context(), coord.Layout{Text: "layout", Workers: 8})
			return err
		}},
	}
	for i := range calls {
		s := newServers(t, 1)
		c := s.daemon("a")
		claim := s.claim(c, want(1))
		s.extend(claim, 100)
		backup := s.backup()
		for _, to := range []generator.Tick{200, 300, 400} {
			s.extend(claim, to)
		}
		s.restore(backup)

		operator := s.dial("o")
		must.Get(operator.Inspect(t.Context()))(t)
		before, written := s.marks(operator), int64(0)
		for j := range 2 * len(calls) {
			call := calls[(i+j)%len(calls)]
			var restored *coord.RestoredError
			if err := call.run(c, claim); !errors.As(err, &restored) || errors.Is(err, coord.ErrLost) || !strings.Contains(err.Error(), "cluster raise") {
				t.Errorf("%s after %s: %v, want a RestoredError that says what to do", call.name, calls[i].name, err)
			}
			if now := must.Get(s.Client().Get(t.Context(), "/"))(t).Header.Revision; j > 0 && now != written {
				t.Errorf("%s after %s: revision %d after %d, want nothing written once the restore is seen", call.name, calls[i].name, now, written)
			} else {
				written = now
			}
		}
		if after := s.marks(operator); after != before {
			t.Errorf("found out by %s: %s was there, and now %s", calls[i].name, before, after)
		}
		must.Get(operator.Raise(t.Context(), 1000))(t)
		// The raise can be seen, and says nothing that this connection could go on with.
		if found, err := c.Look(t.Context()); err != nil || found.Raise.Floor != 1000 || found.Raise.ClusterEpoch == "" {
			t.Errorf("Look after the raise: %+v, %v; want that all was raised to 1000", found, err)
		}
		var restored *coord.RestoredError
		if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 500}); !errors.As(err, &restored) {
			t.Errorf("Extend after the raise: %v, want a RestoredError", err)
		}
		must.Do(t, operator.Clear(t.Context(), claim.Name()))
		r := want(1)
		got, err := s.daemon("aa").Claim(t.Context(), r)
		if err != nil || got.Worker() != 1 || got.Floor() != 1000 {
			t.Errorf("found out by %s: the next start got %+v, %v; want worker ID 1 above 1000", calls[i].name, got, err)
		}
	}
}

// Others write so much after the restore that no revision goes back: the record does.
func TestRestoredAmongOthersWrites(t *testing.T) {
	s := newServers(t, 1)
	s.daemon("setup")
	backup := s.backup()
	j, k := s.daemon("j"), s.daemon("k")
	var claims []coord.Claim
	for worker, c := range []*etcd.Coordinator{j, k} {
		claim := s.claim(c, want(worker))
		s.extend(claim, 5000)
		claims = append(claims, claim)
	}
	s.restore(backup)
	others := s.Client()
	for range 60 {
		must.Get(others.Put(t.Context(), "/others", "x"))(t)
	}
	var restored *coord.RestoredError
	if err := claims[1].Extend(t.Context(), coord.Progress{Ceiling: 6000}); !errors.As(err, &restored) || !strings.Contains(err.Error(), "worker ID 1 went back") {
		t.Errorf("Extend: %v, want a RestoredError that names the record", err)
	}
	if got, err := k.Claim(t.Context(), want(0)); !errors.As(err, &restored) {
		t.Errorf("Claim: %+v, %v; want a RestoredError: the worker ID is another's up to 5000", got, err)
	}
}

// marks is all claims and records, in one text.
func (tr tree) marks(o coord.Operator) string {
	tr.t.Helper()
	members, err := o.Members(tr.t.Context())
	marks, err2 := o.Marks(tr.t.Context())
	must.Do(tr.t, errors.Join(err, err2))
	return fmt.Sprintf("%+v %+v", members, marks)
}

// Etcd's data is gone, and its revisions start over: that is another cluster, or
// none, not a backup of the old one.
func TestDataReplaced(t *testing.T) {
	for _, anew := range []bool{false, true} {
		s := newServers(t, 1)
		empty := s.backup()
		c := s.daemon("a")
		claim := s.claim(c, want(1))
		s.extend(claim, 100)
		s.restore(empty)
		uuid := ""
		if anew {
			cluster := coordtest.Join(t, s.dial("b"), coord.Layout{Text: "layout", Workers: 8})
			uuid = cluster.UUID
		}
		for range 2 {
			var other *coord.ClusterError
			if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 500}); !errors.As(err, &other) || other.Cluster != uuid {
				t.Errorf("Extend: %v, want ErrOtherCluster with %q", err, uuid)
			}
		}
	}
}

// Members that are stopped and come back behind the others answer no earlier
// revision: nothing is taken for a restore.
func TestMembersThatLagAreNoRestore(t *testing.T) {
	t.Parallel()
	s := newServers(t, 3)
	c := s.daemon("a")
	claim := s.claim(c, want(1))
	to := generator.Tick(100)
	for i := range 3 {
		s.Stop(i)
		for range 10 {
			to++
			if err := claim.Extend(t.Context(), coord.Progress{Ceiling: to}); err != nil {
				// The outcome is unknown while a leader is elected; never a loss.
				var restored *coord.RestoredError
				if errors.As(err, &restored) || errors.Is(err, coord.ErrLost) {
					t.Fatalf("Extend while member %d is away: %v", i, err)
				}
			}
		}
		s.Start(i)
		for range 10 {
			to++
			must.Eventually(t, "Extend", func() error { // on a busy machine a leader may be elected once more
				err := claim.Extend(t.Context(), coord.Progress{Ceiling: to})
				var restored *coord.RestoredError
				if errors.As(err, &restored) || errors.Is(err, coord.ErrLost) {
					t.Fatalf("Extend when member %d is back: %v", i, err)
				}
				return err
			})
		}
	}
}
