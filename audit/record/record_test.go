package record

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// fakeCoordinator is a source, a coordinator and a claim that say yes, unless err is set.
type fakeCoordinator struct {
	coord.Coordinator
	tries              int // openings of a claim
	extended, released int
	err                error // of every call on what is held
}

func (*fakeCoordinator) Take(*issue.Connection, uint32, int) (generator.Run, issue.Wait) {
	return generator.Run{First: 7, N: 3}, issue.Wait{}
}
func (l *fakeCoordinator) Claim(_ context.Context, r coord.Request) (coord.Claim, error) {
	for range l.tries {
		if err := errors.Join(r.Before(coord.AnyWorker), r.Before(5)); err != nil {
			return nil, err
		}
	}
	return held{l}, l.err
}

type held struct{ *fakeCoordinator }

func (held) Worker() int                                         { return 5 }
func (held) Name() string                                        { return "name" }
func (held) Opening() string                                     { return "opening" }
func (held) Floor() generator.Tick                               { return 9 }
func (l held) Extend(context.Context, coord.Progress) error      { l.extended++; return l.err }
func (l held) Release(_ context.Context, _ generator.Last) error { l.released++; return l.err }

// open returns a log, and what makes it fail.
func open(t *testing.T) (*File, func()) {
	t.Helper()
	layout, err := generator.ParseLayout("flakeward")
	if err != nil {
		t.Fatal(err)
	}
	f, err := Open(t.TempDir(), coord.Identity{Host: "host", Incarnation: "i"}, layout, hclog.NewNullLogger())
	if err != nil {
		t.Fatal(err)
	}
	return f, func() { _ = f.Close() }
}

// TestWhatCannotBeWrittenDownDoesNotHappen: no ID leaves, and no claim, ceiling or release is
// believed.
func TestWhatCannotBeWrittenDownDoesNotHappen(t *testing.T) {
	f, fail := open(t)
	l := &fakeCoordinator{tries: 1}
	source, c := f.Source(l), f.Coordinator(l)
	claim, err := c.Claim(t.Context(), coord.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if run, wait := source.Take(&issue.Connection{}, 0, 3); run.N != 3 || wait.Err != nil {
		t.Fatalf("Take: %+v, %v", run, wait.Err)
	}
	fail()
	if run, wait := source.Take(&issue.Connection{}, 0, 3); run != (generator.Run{}) || !errors.Is(wait.Err, os.ErrClosed) {
		t.Errorf("Take: %+v, %v", run, wait.Err)
	}
	if claim, err := c.Claim(t.Context(), coord.Request{}); claim != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Claim: %v, %v", claim, err)
	}
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 1}); !errors.Is(err, os.ErrClosed) || l.extended != 0 {
		t.Errorf("Extend: %v after %d calls", err, l.extended)
	}
	if err := claim.Release(t.Context(), coordtest.Closed(1)); !errors.Is(err, os.ErrClosed) || l.released != 0 {
		t.Errorf("Release: %v after %d calls", err, l.released)
	}
}

// TestEachCallIsWrittenDownAsItBeginsAndEnds: with what was asked for, and how it ended.
func TestEachCallIsWrittenDownAsItBeginsAndEnds(t *testing.T) {
	var all []evidence.Event
	l := &fakeCoordinator{tries: 1}
	c := Coordinator(l, func(e evidence.Event) error { all = append(all, e); return nil })
	claim, err := c.Claim(t.Context(), coord.Request{Latest: 6})
	if err != nil {
		t.Fatal(err)
	}
	unclear := errors.New("unclear")
	for _, err := range []error{nil, unclear, coord.ErrLost} {
		l.err = err
		if got := claim.Extend(t.Context(), coord.Progress{Ceiling: 7, Issued: 8}); got != err {
			t.Errorf("Extend: %v, want %v", got, err)
		}
	}
	l.err = nil
	must.Do(t, claim.Release(t.Context(), coordtest.Closed(7)))
	l.err, l.tries = unclear, 2
	if _, err := c.Claim(t.Context(), coord.Request{}); err != unclear {
		t.Errorf("Claim: %v, want %v", err, unclear)
	}
	extending := evidence.Event{Kind: evidence.Extending, Worker: 5, Opening: "opening", Ceiling: 7, Issued: 8}
	numbered := func(call uint64, e evidence.Event) evidence.Event { e.Call = call; return e }
	failed := func(call uint64, how evidence.Ending) evidence.Event {
		return evidence.Event{Kind: evidence.Failed, Call: call, Worker: 5, Opening: "opening", Ending: how}
	}
	want := []evidence.Event{
		{Kind: evidence.Claiming, Call: 1, Worker: 5},
		{Kind: evidence.Claimed, Call: 1, Worker: 5, Opening: "opening", Floor: 9},
		numbered(2, extending),
		{Kind: evidence.Extended, Call: 2, Worker: 5, Opening: "opening", Ceiling: 7},
		numbered(3, extending), failed(3, evidence.Unclear),
		numbered(4, extending), failed(4, evidence.Denied),
		{Kind: evidence.Releasing, Call: 5, Worker: 5, Opening: "opening", Last: 7},
		{Kind: evidence.Released, Call: 5, Worker: 5, Opening: "opening", Last: 7},
		{Kind: evidence.Claiming, Call: 6, Worker: 5}, {Kind: evidence.Failed, Call: 6, Worker: 5, Ending: evidence.Denied},
		{Kind: evidence.Claiming, Call: 7, Worker: 5}, {Kind: evidence.Failed, Call: 7, Worker: 5, Ending: evidence.Unclear},
	}
	if !slices.Equal(all, want) {
		t.Errorf("written down:\n%+v\nwant:\n%+v", all, want)
	}
}

// TestASuccessThatCannotBeWrittenDownIsNotBelieved, of no call.
func TestASuccessThatCannotBeWrittenDownIsNotBelieved(t *testing.T) {
	full := errors.New("no space")
	left := 3
	c := Coordinator(&fakeCoordinator{tries: 1}, func(evidence.Event) error {
		if left--; left < 0 {
			return full
		}
		return nil
	})
	claim, err := c.Claim(t.Context(), coord.Request{})
	if err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"Extend":  func() error { return claim.Extend(t.Context(), coord.Progress{}) },
		"Release": func() error { return claim.Release(t.Context(), coordtest.Closed(1)) },
		"Claim":   func() error { _, err := c.Claim(t.Context(), coord.Request{}); return err },
	} {
		left = 1 // the call's beginning
		if err := do(); !errors.Is(err, full) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
