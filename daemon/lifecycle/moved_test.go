package lifecycle_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// asked is a coordinator that takes down the claims that it is asked for, and gives none.
type asked struct {
	office
	requests []coord.Request
}

var errNone = errors.New("no worker ID today")

func (*asked) Known() coord.Cluster { return coord.Cluster{} }

func (a *asked) Claim(_ context.Context, r coord.Request) (coord.Pending, error) {
	a.requests = append(a.requests, r)
	return nil, errNone
}

// issuedFrom is an issuer that records the lanes that it is to use. Lanes start cold side by side.
type issuedFrom struct {
	mu    sync.Mutex
	lanes []*generator.Lane
}

func (i *issuedFrom) Use(l *generator.Lane) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if l != nil {
		i.lanes = append(i.lanes, l)
	}
}
func (*issuedFrom) Changed() {}

var (
	one   = place.Host{Boot: "boot 1", Machine: "machine 1"}
	other = place.Host{Boot: "boot 2", Machine: "machine 2"}
)

// written makes a state directory with the journals of three lanes, which hold the worker IDs 7, 8
// and 9, and a mark of now.
func written(t *testing.T, clock *hands, layout *generator.Layout) (path string, now generator.Tick) {
	t.Helper()
	path, now = filepath.Join(t.TempDir(), "state"), layout.TickAt(clock.Now().Wall)
	dir := must.Get(journal.OpenDir(path, one))(t)
	for lane := range 3 {
		f := must.Get(dir.Lane(lane))(t)
		must.Do(t, f.Write(journal.Contents{
			Cluster: "the cluster", Coord: "there", Layout: layout.String() + ";datacenter=0",
			Lanes: []journal.Entry{{Worker: 7 + lane, Opening: "opening", Claim: "claim", Mark: now}},
		}))
	}
	must.Do(t, dir.Close())
	return path, now
}

// begun starts a daemon of two lanes on a state directory, as far as its journals.
func begun(t *testing.T, clock *hands, o coord.Coordinator, path string, host place.Host) (*lifecycle.Lifecycle, *grant.Issued, *issuedFrom, lifecycle.Inherited) {
	t.Helper()
	dir := must.Get(journal.OpenDir(path, host))(t)
	t.Cleanup(func() { dir.Close() })
	l, issued, issuer := lanes(t, clock, o)
	for lane, k := range l.Holders {
		f := must.Get(dir.Lane(lane))(t)
		k.Journal = f
	}
	inherited := must.Get(l.Inherit(dir))(t)
	return l, issued, issuer, inherited
}

// lanes is a daemon of two lanes, whose journals nobody writes.
func lanes(t *testing.T, clock *hands, o coord.Coordinator) (*lifecycle.Lifecycle, *grant.Issued, *issuedFrom) {
	t.Helper()
	layout, issued, issuer := mustLayout(t), grant.NewIssued(), &issuedFrom{}
	l := &lifecycle.Lifecycle{
		Layout: layout, Clock: known(clock), Belief: clockguard.DefaultBelief(), Coord: "there", Joined: func(coord.Cluster) {}, Log: hclog.NewNullLogger(),
		Open: func(context.Context) (coord.Coordinator, error) { return o, nil },
	}
	for lane := range 2 {
		l.Holders = append(l.Holders, grant.New(grant.Config{
			Layout: layout, Coord: "there", Timing: grant.Timing{Window: time.Minute, Publish: time.Second, Step: time.Second},
			Clock: clock, Journal: unwritten{}, Lane: lane, Issued: issued, Log: hclog.NewNullLogger(),
		}, issuer))
	}
	return l, issued, issuer
}

type unwritten struct{}

func (unwritten) Write(journal.Contents) error { return nil }

// TestOfAJournalThatMovedOnlyTheMarksCount: a journal that lies elsewhere than where it was written
// names nobody's opening, grant or claim, of any lane; its marks are floors. In its place it names
// all of them.
func TestOfAJournalThatMovedOnlyTheMarksCount(t *testing.T) {
	for _, inPlace := range []bool{true, false} {
		clock, layout := &hands{}, mustLayout(t)
		path, now := written(t, clock, layout)
		host := one
		if !inPlace {
			host = other
		}
		o := &asked{}
		l, issued, _, inherited := begun(t, clock, o, path, host)
		if l.Moved == inPlace {
			t.Errorf("in its place %v: Moved is %v", inPlace, l.Moved)
		}
		for lane, c := range inherited {
			if (c != nil) != inPlace {
				t.Errorf("in its place %v: lane %d has inherited %+v", inPlace, lane, c)
			}
		}
		must.Get(l.Join(t.Context(), inherited))(t)
		for lane, k := range l.Holders {
			must.Fail(t, k.Acquire(t.Context(), false), errNone)
			r := o.requests[lane]
			wantClaims := []string{}
			if inPlace && lane == 0 {
				wantClaims = []string{"claim"} // of the third lane, which does not run
			}
			if continues := r.Opening == "opening" && r.Worker == 7+lane && r.Mark == now; continues != inPlace {
				t.Errorf("in its place %v: lane %d asks for %+v", inPlace, lane, r)
			}
			if (r.Predecessor == "claim") != inPlace || !slices.Equal(r.Stale, wantClaims) && len(r.Stale)+len(wantClaims) > 0 {
				t.Errorf("in its place %v: lane %d has the claims %q and %q deleted", inPlace, lane, r.Predecessor, r.Stale)
			}
		}
		for worker := 7; worker <= 9; worker++ {
			if got := issued.To(worker); got != now {
				t.Errorf("in its place %v: worker ID %d is known to be issued up to %d, want %d", inPlace, worker, got, now)
			}
		}
	}
}

// TestAJournalOfAnotherClusterIsNotUsed: where the coordinator holds another cluster than the journals
// are of, nothing of them counts.
func TestAJournalOfAnotherClusterIsNotUsed(t *testing.T) {
	clock := &hands{}
	path, _ := written(t, clock, mustLayout(t))
	o := &renamed{}
	l, _, issuer, inherited := begun(t, clock, o, path, one)
	must.Get(l.Join(t.Context(), inherited))(t)
	for lane, k := range l.Holders {
		must.Fail(t, k.Acquire(t.Context(), false), errNone)
		if r := o.requests[lane]; r.Opening != "" || r.Predecessor != "" || r.Worker != coord.AnyWorker {
			t.Errorf("lane %d asks for %+v", lane, r)
		}
	}
	if len(issuer.lanes) > 0 {
		t.Errorf("%d lanes are issued from", len(issuer.lanes))
	}
}

// renamed is a coordinator of another cluster.
type renamed struct{ asked }

func (*renamed) Join(context.Context, coord.Layout) (coord.Cluster, error) {
	return coord.Cluster{UUID: "another cluster"}, nil
}

func mustLayout(t *testing.T) *generator.Layout {
	t.Helper()
	return must.Get(generator.ParseLayout("flakeward"))(t)
}

// TestOneJournalAtHomeHoldsTheCoordinator: the coordinator beside the journals is no copy if any of
// them is in its place, whichever is lost.
func TestOneJournalAtHomeHoldsTheCoordinator(t *testing.T) {
	for _, lost := range []string{"journal", "journal-1", "journal-2"} {
		clock := &hands{}
		path, _ := written(t, clock, mustLayout(t))
		must.Do(t, os.Remove(filepath.Join(path, lost)))
		if l, _, _, _ := begun(t, clock, &asked{}, path, one); l.Moved {
			t.Errorf("without %s, the coordinator is taken for a copy", lost)
		}
	}
}
