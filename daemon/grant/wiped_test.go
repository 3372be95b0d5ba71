package grant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/internal/must"
)

// wipe deletes all that the coordinator has.
func (w *fixture) wipe() {
	w.t.Helper()
	must.Do(w.t, w.tree.wipe(w.t.Context()))
}

// A daemon whose coordinator was wiped learns of it at its next exchange, and ends: in the cluster
// that is made anew its worker ID may be another's, and that one's its own.
func TestWipedUnderALiveDaemon(t *testing.T) {
	for _, remade := range []bool{false, true} {
		w := newFixture(t)
		a := w.host("A").start()
		a.issueAll()
		w.wipe()
		if remade {
			w.host("C").start()
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := a.Hold(ctx); !errors.Is(err, coord.ErrOtherCluster) {
			t.Fatalf("remade %v: lending ended with %v", remade, err)
		}
		if !a.lane.Closed() {
			t.Error("the lane goes on")
		}
		if err := a.Acquire(ctx, false); !errors.Is(err, coord.ErrOtherCluster) {
			t.Errorf("remade %v: a claim ended with %v", remade, err)
		}
		must.Do(t, a.Shut(ctx))
	}
}
