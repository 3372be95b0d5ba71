package record

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
)

// fakeCoordinator is a source, a coordinator and a claim that always say yes.
type fakeCoordinator struct {
	coord.Coordinator
	extended, released int
	failed             chan struct{}
}

func (*fakeCoordinator) Take(*issue.Connection, uint32, int) (generator.Run, issue.Wait) {
	return generator.Run{First: 7, N: 3}, issue.Wait{}
}
func (l *fakeCoordinator) Claim(context.Context, coord.Request) (coord.Pending, error) {
	return held{l}, nil
}
func (l *fakeCoordinator) Failed() <-chan struct{} { return l.failed }

type held struct{ *fakeCoordinator }

func (l held) Open(context.Context) (coord.Claim, error) { return l, nil }
func (held) Worker() int                                 { return 5 }
func (held) Name() string                                { return "name" }
func (held) Opening() string                             { return "opening" }
func (held) Continues() bool                             { return true }
func (held) Floor() generator.Tick                       { return 9 }
func (held) Until() generator.Tick                       { return 0 }
func (l held) Reopen(context.Context, generator.Tick, generator.Tick) (coord.Claim, error) {
	return l, nil
}
func (l held) Extend(context.Context, coord.Progress) error      { l.extended++; return nil }
func (l held) Release(_ context.Context, _ generator.Tick) error { l.released++; return nil }

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
	l := &fakeCoordinator{}
	source, c := f.Source(l), f.Coordinator(l)
	claim, err := coordtest.Claim(t.Context(), c, coord.Request{})
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
	if claim, err := coordtest.Claim(t.Context(), c, coord.Request{}); claim != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Claim: %v, %v", claim, err)
	}
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 1}); !errors.Is(err, os.ErrClosed) || l.extended != 1 {
		t.Errorf("Extend: %v after %d calls", err, l.extended)
	}
	if err := claim.Release(t.Context(), 1); !errors.Is(err, os.ErrClosed) || l.released != 0 {
		t.Errorf("Release: %v after %d calls", err, l.released)
	}
}

// TestARecordedCoordinatorStillFails: what the daemon asks of a coordinator in its process goes
// through.
func TestARecordedCoordinatorStillFails(t *testing.T) {
	f, fail := open(t)
	defer fail()
	l := &fakeCoordinator{failed: make(chan struct{})}
	if c, ok := f.Coordinator(l).(interface{ Failed() <-chan struct{} }); !ok || c.Failed() != l.failed {
		t.Error("the channel is not the coordinator's")
	}
	if _, ok := f.Coordinator(struct{ coord.Coordinator }{l}).(interface{ Failed() <-chan struct{} }); ok {
		t.Error("a coordinator elsewhere is said to be in the process")
	}
}
