package metrics_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// fake is a coordinator whose calls end as it says.
type fake struct {
	coord.Coordinator
	err error
}

type fakeCoordinator struct{ *fake }

func (f fakeCoordinator) Claim(context.Context, coord.Request) (coord.Claim, error) {
	return fakeClaim{nil, f.fake}, nil
}

func (f fakeCoordinator) Join(context.Context, coord.Layout) (coord.Cluster, error) {
	return coord.Cluster{}, f.err
}
func (f fakeCoordinator) Look(context.Context) (coord.Cluster, error) { return coord.Cluster{}, nil }
func (f fakeCoordinator) Members(context.Context) ([]coord.Member, error) {
	return nil, nil
}

type fakeClaim struct {
	coord.Claim
	fake *fake
}

func (c fakeClaim) Extend(context.Context, coord.Progress) error { return c.fake.err }
func (c fakeClaim) Release(context.Context, generator.Last) error {
	return c.fake.err
}

// TestCallsAreCountedByHowTheyEnd: claims and what they lead to included.
func TestCallsAreCountedByHowTheyEnd(t *testing.T) {
	w := newFixture(t)
	f := &fake{err: coord.ErrOtherCluster}
	c := w.metrics.Coordinator(fakeCoordinator{f})
	ctx := t.Context()
	if _, err := c.Join(ctx, coord.Layout{}); !errors.Is(err, coord.ErrOtherCluster) {
		t.Fatalf("the error has become %v", err)
	}
	_, _ = c.Look(ctx)
	_, _ = c.Members(ctx)
	claim := must.Get(c.Claim(ctx, coord.Request{}))(t)
	for _, f.err = range []error{nil, coord.ErrLost, coord.ErrRaised, context.DeadlineExceeded, errors.New("x")} {
		_ = claim.Extend(ctx, coord.Progress{})
	}
	_ = claim.Release(ctx, generator.Last{})
	got := w.scrape(t)
	for _, labels := range []string{
		`call="join",outcome="other-cluster"`, `call="look",outcome="ok"`, `call="members",outcome="ok"`,
		`call="claim",outcome="ok"`, `call="release",outcome="error"`,
		`call="extend",outcome="ok"`, `call="extend",outcome="lost"`, `call="extend",outcome="raised"`, `call="extend",outcome="timeout"`,
	} {
		if n := got["flakeward_coordinator_calls_total{"+labels+"}"]; n != "1" {
			t.Errorf("%s: %q calls", labels, n)
		}
	}
	if n := got[`flakeward_coordinator_call_duration_seconds_count{call="extend"}`]; n != "5" {
		t.Errorf("%q of 5 calls are timed", n)
	}
}

func TestUsersAreShownByUIDOrAddress(t *testing.T) {
	w := newFixture(t)
	w.figures.Limits.Rate = issue.Rate{PerSecond: 9}
	w.figures.Limits.Users = []issue.Usage{{UID: 7, IDs: 1}, {UID: queue.Nobody, Address: netip.MustParseAddr("10.0.0.1"), IDs: 2}, {UID: queue.Nobody, IDs: 3}}
	got := w.scrape(t)
	for name, want := range map[string]string{
		`rate_limit`: "9", `ids_total{uid="7"}`: "1", `ids_total{uid="10.0.0.1"}`: "2", `ids_total{uid="unknown"}`: "3", `ids_total{uid="other"}`: "0",
	} {
		if n := got["flakeward_user_"+name]; n != want {
			t.Errorf("%s is %q, want %s", name, n, want)
		}
	}
}

func TestTheHighestTickIsShown(t *testing.T) {
	w := newFixture(t)
	const name = "flakeward_issued_timestamp_seconds"
	if v, ok := w.scrape(t)[name]; ok {
		t.Errorf("nothing was issued, and the time is %s", v)
	}
	w.figures.Holding.Issued = w.figures.Layout.TickAt(1.8e18)
	if v := w.scrape(t)[name]; v != "1.8e+09" {
		t.Errorf("the time is %s", v)
	}
}
