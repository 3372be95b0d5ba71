package grant_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/must"
)

// backend is a real coordinator's servers, with one tree for one test.
type backend interface {
	// open opens a session, as a start of a daemon does.
	open(coord.Identity) (coord.Coordinator, error)
	// claims lists the names of all claim nodes.
	claims(context.Context) ([]string, error)
	// revoke deletes a claim's node, as the end of its session would.
	revoke(ctx context.Context, claim string) error
	// expire ends the session of a claim on the servers and returns when its node is gone, whatever
	// the client believes.
	expire(ctx context.Context, claim string) error
	// hang keeps all that is asked of the servers from now on away from them, until arrive lets it
	// through, also what nobody waits for any more.
	hang()
	arrive()
	// hangs tells whether something has been asked that is kept away.
	hangs() bool
	// wipe deletes the whole tree at once.
	wipe(context.Context) error
	// save reads what a backup has, which is all that is durable, and returns how that is put back
	// in the place of all that there is then, claims included.
	save(context.Context) (restore func(context.Context) error, err error)
}

// sessionTimeout is long: no session ends unless a test ends it.
const sessionTimeout = 30 * time.Second

// onEach runs a test on each back-end.
func onEach(t *testing.T, test func(t *testing.T, w *fixture)) {
	t.Helper()
	onEachWith(t, sessionTimeout, test)
}

// onEachWith is onEach with sessions that end by themselves after a while.
func onEachWith(t *testing.T, session time.Duration, test func(t *testing.T, w *fixture)) {
	t.Helper()
	t.Run("etcd", func(t *testing.T) { test(t, newFixtureOn(t, newEtcd(t))) })
	t.Run("ZooKeeper", func(t *testing.T) { test(t, newFixtureOn(t, newZooKeeper(t, session))) })
}

// errNoSuchClaim is a mistake in a test.
var errNoSuchClaim = errors.New("there is no such claim")

// timeout bounds a wait for something that takes well below a second.
const timeout = time.Minute

// until waits for something that nobody announces.
func (w *fixture) until(what string, done func(context.Context) (bool, error)) {
	w.t.Helper()
	ctx, stop := context.WithTimeout(w.t.Context(), timeout)
	defer stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		ok, err := done(ctx)
		if err != nil {
			w.t.Fatalf("%s: %v", what, err)
		}
		if ok {
			return
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			w.t.Fatalf("%s: not within %v", what, timeout)
		}
	}
}

// close ends the session. If no server answers that in time, its claims are deleted, as they would
// be when it expires.
func (p *process) close() {
	p.t.Helper()
	for gone := coordtest.Close(p.t, p.coord); !gone; {
		names := must.Get(p.tree.claims(p.t.Context()))(p.t)
		gone = true
		for _, name := range names {
			if strings.Contains(name, p.started) {
				gone = p.tree.revoke(p.t.Context(), name) == nil && gone
			}
		}
	}
}
