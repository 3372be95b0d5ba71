//go:build drill

package daemon

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
)

// lender is a source, a coordinator and a claim that always say yes.
type lender struct {
	coord.Coordinator
	extended, released int
	failed             chan struct{}
}

func (*lender) Take(*issue.Ticket, uint32, int) (generator.Run, issue.Wait) {
	return generator.Run{First: 7, N: 3}, issue.Wait{}
}
func (l *lender) Claim(context.Context, coord.Request) (coord.Claim, error) { return lent{l}, nil }
func (l *lender) Failed() <-chan struct{}                                   { return l.failed }

type lent struct{ *lender }

func (lent) Worker() int                                         { return 5 }
func (lent) Name() string                                        { return "name" }
func (lent) Opening() string                                     { return "opening" }
func (lent) Continues() bool                                     { return true }
func (lent) Floor() generator.Tick                               { return 9 }
func (l lent) Extend(context.Context, coord.Progress) error      { l.extended++; return nil }
func (l lent) Release(_ context.Context, _ generator.Tick) error { l.released++; return nil }

// testWitness returns a witness and what makes its log fail.
func testWitness(t *testing.T) (witness, func()) {
	t.Helper()
	events, err := evidence.OpenEvents(filepath.Join(t.TempDir(), "log"))
	if err != nil {
		t.Fatal(err)
	}
	return witness{events: events, step: 1, log: hclog.NewNullLogger(), said: new(sync.Once)}, func() { _ = events.Close() }
}

// TestDrillWhatCannotBeWrittenDownDoesNotHappen: no ID leaves, and no claim, ceiling or release is believed.
func TestDrillWhatCannotBeWrittenDownDoesNotHappen(t *testing.T) {
	w, fail := testWitness(t)
	l := &lender{}
	source, c := w.source(l), w.coordinator(l)
	claim, err := c.Claim(t.Context(), coord.Request{})
	if err != nil {
		t.Fatal(err)
	}
	if run, wait := source.Take(&issue.Ticket{}, 0, 3); run.N != 3 || wait.Err != nil {
		t.Fatalf("Take: %+v, %v", run, wait.Err)
	}
	fail()
	if run, wait := source.Take(&issue.Ticket{}, 0, 3); run != (generator.Run{}) || !errors.Is(wait.Err, os.ErrClosed) {
		t.Errorf("Take: %+v, %v", run, wait.Err)
	}
	if claim, err := c.Claim(t.Context(), coord.Request{}); claim != nil || !errors.Is(err, os.ErrClosed) {
		t.Errorf("Claim: %v, %v", claim, err)
	}
	if err := claim.Extend(t.Context(), coord.Progress{Ceiling: 1}); !errors.Is(err, os.ErrClosed) || l.extended != 1 {
		t.Errorf("Extend: %v after %d calls", err, l.extended)
	}
	if err := claim.Release(t.Context(), 1); !errors.Is(err, os.ErrClosed) || l.released != 0 {
		t.Errorf("Release: %v after %d calls", err, l.released)
	}
}

// TestDrillAWitnessedCoordinatorStillFails: what the daemon asks of a coordinator in its process goes through.
func TestDrillAWitnessedCoordinatorStillFails(t *testing.T) {
	w, fail := testWitness(t)
	defer fail()
	l := &lender{failed: make(chan struct{})}
	if f, ok := w.coordinator(l).(interface{ Failed() <-chan struct{} }); !ok || f.Failed() != l.failed {
		t.Error("the channel is not the coordinator's")
	}
	if _, ok := w.coordinator(struct{ coord.Coordinator }{l}).(interface{ Failed() <-chan struct{} }); ok {
		t.Error("a coordinator elsewhere is said to be in the process")
	}
}
