package grant_test

import (
	"context"
	"errors"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/etcd"
)

// wipe deletes all that the coordinator has.
func (w *world) wipe() {
	w.t.Helper()
	if _, err := w.client.Delete(w.t.Context(), etcd.DefaultPrefix, clientv3.WithPrefix()); err != nil {
		w.t.Fatal(err)
	}
}

// A daemon whose coordinator was wiped learns of it at its next exchange, and ends: in the cluster that is made anew its worker ID may be
// another's, and that one's its own.
func TestWipedUnderALiveDaemon(t *testing.T) {
	for _, remade := range []bool{false, true} {
		w := newWorld(t)
		a := w.host("A").start()
		a.issueAll()
		w.wipe()
		if remade {
			w.host("C").start()
		}
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		if err := a.Lend(ctx); !errors.Is(err, coord.ErrOtherCluster) {
			t.Fatalf("remade %v: lending ended with %v", remade, err)
		}
		if !a.lane.Closed() {
			t.Error("the lane goes on")
		}
		if err := a.Acquire(ctx, false); !errors.Is(err, coord.ErrOtherCluster) {
			t.Errorf("remade %v: a claim ended with %v", remade, err)
		}
		// What is left in the journal is no grant to start from.
		if err := a.Shut(ctx); err != nil {
			t.Error(err)
		}
		if e := a.onDisk(); e.Ceiling != 0 {
			t.Errorf("the journal keeps a grant up to %d", e.Ceiling)
		}
	}
}

// The next start joins the cluster that was made anew. Its record knows nothing, but the journal does.
func TestWipedBetweenTwoStarts(t *testing.T) {
	w := newWorld(t)
	h := w.host("A")
	a := h.start()
	a.issueAll()
	mark := a.Holding().Mark
	a.crash()
	w.wipe()
	again := h.start()
	if got := again.Holding(); got.Worker != a.worker() || got.Floor < mark {
		t.Errorf("worker ID %d above %d, had issued from %d up to %d", got.Worker, got.Floor, a.worker(), mark)
	}
	w.clock.Advance(step)
	if err := again.Renew(); err != nil {
		t.Fatal(err)
	}
	if again.issueAll() == 0 {
		t.Error("nothing can be issued in the new cluster")
	}
}
