package lifecycle_test

import (
	"context"
	"errors"
	"path/filepath"
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

// issuedFrom is an issuer that records the lanes that it is to use.
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

// written makes a state directory with a journal, which holds the worker ID 7, and a mark of now.
func written(t *testing.T, clock *hands, layout *generator.Layout) (path string, now generator.Tick) {
	t.Helper()
	path, now = filepath.Join(t.TempDir(), "state"), layout.TickAt(clock.Now().Wall)
	dir := must.Get(journal.OpenDir(path, one))(t)
	must.Do(t, dir.Write(journal.Contents{
		Cluster: "the cluster", Coord: "there", Layout: layout.String() + ";datacenter=0",
		Entries: []journal.Entry{{Worker: 7, Opening: "opening", Claim: "claim", Mark: now}},
	}))
	must.Do(t, dir.Close())
	return path, now
}

// begun starts a daemon on a state directory, as far as its journal.
func begun(t *testing.T, clock *hands, o coord.Coordinator, path string, host place.Host) (*lifecycle.Lifecycle, *journal.Contents) {
	t.Helper()
	dir := must.Get(journal.OpenDir(path, host))(t)
	t.Cleanup(func() { dir.Close() })
	l, _ := single(t, clock, o)
	return l, l.Inherit(dir)
}

// single is a daemon whose journal nobody writes.
func single(t *testing.T, clock *hands, o coord.Coordinator) (*lifecycle.Lifecycle, *issuedFrom) {
	t.Helper()
	layout, issuer := mustLayout(t), &issuedFrom{}
	return &lifecycle.Lifecycle{
		Layout: layout, Clock: known(clock), Belief: clockguard.DefaultBelief(), Coord: "there", Joined: func(coord.Cluster) {}, Log: hclog.NewNullLogger(),
		Open: func(context.Context) (coord.Coordinator, error) { return o, nil },
		Holder: grant.New(grant.Config{
			Layout: layout, Coord: "there", Timing: grant.Timing{Window: time.Minute, Publish: time.Second, Step: time.Second},
			Clock: clock, Journal: unwritten{}, Log: hclog.NewNullLogger(),
		}, issuer),
	}, issuer
}

type unwritten struct{}

func (unwritten) Write(journal.Contents) error { return nil }

// TestOfAJournalThatMovedOnlyTheMarksCount: a journal that lies elsewhere than where it was written
// names nobody's opening or claim; its marks are floors. In its place it names all of them.
func TestOfAJournalThatMovedOnlyTheMarksCount(t *testing.T) {
	for _, inPlace := range []bool{true, false} {
		clock, layout := &hands{}, mustLayout(t)
		path, now := written(t, clock, layout)
		host := one
		if !inPlace {
			host = other
		}
		o := &asked{}
		l, inherited := begun(t, clock, o, path, host)
		if l.Moved == inPlace || (inherited != nil) != inPlace {
			t.Errorf("in its place %v: Moved is %v, and inherited is %+v", inPlace, l.Moved, inherited)
		}
		must.Get(l.Join(t.Context(), inherited))(t)
		must.Fail(t, l.Holder.Acquire(t.Context(), false), errNone)
		r := o.requests[0]
		if continues := r.Opening == "opening" && r.Worker == 7 && r.Mark == now; continues != inPlace {
			t.Errorf("in its place %v: it asks for %+v", inPlace, r)
		}
		if (r.Predecessor == "claim") != inPlace {
			t.Errorf("in its place %v: it has the claim %q deleted", inPlace, r.Predecessor)
		}
		if got := l.Holder.Issued.To(7); got != now {
			t.Errorf("in its place %v: the worker ID is known to be issued up to %d, want %d", inPlace, got, now)
		}
	}
}

// TestAJournalOfAnotherClusterIsNotUsed: where the coordinator holds another cluster than the journal
// is of, nothing of it counts.
func TestAJournalOfAnotherClusterIsNotUsed(t *testing.T) {
	clock := &hands{}
	path, _ := written(t, clock, mustLayout(t))
	o := &renamed{}
	l, inherited := begun(t, clock, o, path, one)
	must.Get(l.Join(t.Context(), inherited))(t)
	must.Fail(t, l.Holder.Acquire(t.Context(), false), errNone)
	if r := o.requests[0]; r.Opening != "" || r.Predecessor != "" || r.Worker != coord.AnyWorker {
		t.Errorf("it asks for %+v", r)
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
