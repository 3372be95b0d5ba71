package zk_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
)

// An ensemble that was restored and has elected a leader once more is ahead of every
// client, for its transactions' numbers begin with the election's: it refuses nobody.
// That a record went back shows it all the same, and nothing is claimed any more.
func TestRestoredEnsembleThatRefusesNobody(t *testing.T) {
	e := zktest.Start(t, zktest.Options{Members: 3})
	servers := zk.Servers{Addresses: e.Addresses()}
	restart := func(between func()) {
		t.Helper()
		e.Stop()
		between()
		e.Start()
		e.Ready()
	}
	setup, _ := joined(t, servers, zk.Config{Timeout: 4 * time.Second})
	if err := claimed(t, setup, 0).Release(t.Context(), 100); err != nil {
		t.Fatal(err)
	}
	if err := setup.Close(); err != nil {
		t.Fatal(err)
	}
	var backup zktest.Backup
	restart(func() { backup = e.Backup() })
	j, _ := joined(t, servers, zk.Config{Timeout: 4 * time.Second})
	k, _ := joined(t, servers, zk.Config{Timeout: 4 * time.Second})
	held := claimed(t, j, 0)
	other := claimed(t, k, 1)
	for _, c := range []coord.Claim{held, other, held, other} {
		if err := c.Extend(t.Context(), coord.Progress{Ceiling: 5000}); err != nil {
			t.Fatal(err)
		}
	}
	restart(func() { e.Restore(backup) })
	restart(func() {})

	ctx, cancel := context.WithTimeout(t.Context(), farTooLong)
	defer cancel()
	var restored *coord.RestoredError
	for {
		err := other.Extend(ctx, coord.Progress{Ceiling: 6000})
		if errors.As(err, &restored) {
			break
		}
		if err == nil || errors.Is(err, coord.ErrLost) || ctx.Err() != nil {
			t.Fatalf("Extend: %v, want a RestoredError", err)
		}
	}
	if got, err := k.Claim(ctx, coord.Request{Worker: 0, Latest: 1 << 40}); !errors.As(err, &restored) {
		t.Errorf("Claim: %+v, %v; want a RestoredError: the worker ID is another's up to 5000", got, err)
	}
	if _, err := k.Join(ctx, coord.Layout{Text: "layout", Workers: 8}); !errors.As(err, &restored) {
		t.Errorf("Join: %v, want a RestoredError", err)
	}
}
