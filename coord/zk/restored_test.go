package zk_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/zk"
	"github.com/flakeward/flakeward/coord/zk/zktest"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
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
	must.Do(t, claimed(t, setup, 0).Release(t.Context(), coordtest.Closed(100)))
	coordtest.Close(t, setup)
	var backup zktest.Backup
	restart(func() { backup = e.Backup() })
	j, _ := joined(t, servers, zk.Config{Timeout: 4 * time.Second})
	k, _ := joined(t, servers, zk.Config{Timeout: 4 * time.Second})
	held := claimed(t, j, 0)
	other := claimed(t, k, 1)
	for _, c := range []coord.Claim{held, other, held, other} {
		must.Do(t, c.Extend(t.Context(), coord.Progress{Ceiling: 5000}))
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

// A server that was restored turns away who has seen more than it has. That one sees the
// raise all the same, in a session of which the server knows nothing.
func TestRaiseSeenByOneWhoIsTurnedAway(t *testing.T) {
	e := zktest.Start(t, zktest.Options{Members: 1})
	servers := zk.Servers{Addresses: e.Addresses()}
	c, _ := joined(t, servers, zk.Config{Timeout: 4 * time.Second})
	held := claimed(t, c, 0)
	cluster, err := c.Join(t.Context(), layout)
	must.Do(t, err)
	restart := func(between func()) {
		t.Helper()
		e.Stop()
		between()
		e.Start()
		e.Ready()
	}
	var backup zktest.Backup
	restart(func() { backup = e.Backup() })
	ctx, cancel := context.WithTimeout(t.Context(), farTooLong)
	defer cancel()
	until := func(what string, done func() bool) {
		t.Helper()
		for !done() {
			if ctx.Err() != nil {
				t.Fatalf("%s: not within %v", what, farTooLong)
			}
		}
	}
	for i := range generator.Tick(20) {
		until("a grant", func() bool { return held.Extend(ctx, coord.Progress{Ceiling: 1000 + i}) == nil })
	}
	restart(func() { e.Restore(backup) })

	until("it is turned away", func() bool {
		short, end := context.WithTimeout(ctx, 3*time.Second)
		defer end()
		err = held.Extend(short, coord.Progress{Ceiling: 5000})
		return errors.Is(err, coord.ErrTurnedAway) && strings.Contains(err.Error(), "flakeward cluster raise")
	})
	if found, err := c.Look(ctx); err != nil || found != cluster {
		t.Errorf("Look: %+v, %v; want %+v", found, err, cluster)
	}
	operator, _ := joined(t, servers, zk.Config{Timeout: 4 * time.Second})
	must.Get(operator.Raise(ctx, 900))(t)
	if found, err := c.Look(ctx); err != nil || found.UUID != cluster.UUID || found.Raise.Floor != 900 || found.Raise.ClusterEpoch == "" {
		t.Errorf("Look: %+v, %v; want cluster %s raised to 900", found, err, cluster.UUID)
	}
}
