package issue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

const maxBlock = 2 * time.Second // of the pools here

type source interface {
	Take(c *issue.Connection, tenant uint32, n int) (generator.Run, issue.Wait)
}

// askRate has the connection ask for n, as often as it is told to wait, and returns what it got,
// for how long it waited, and why it was refused.
func askRate(t *testing.T, g *fixture, c *issue.Connection, from source, n int) (got int, waited time.Duration, err error) {
	t.Helper()
	c.Begin()
	for got < n && err == nil {
		run, wait := from.Take(c, 0, n-got)
		if run.N == 0 && wait.Err == nil && wait.For <= 0 {
			t.Fatalf("it waits for %+v", wait)
		}
		got, err = got+run.N, wait.Err
		if run.N == 0 && err == nil {
			waited += wait.For
			g.clock.Advance(wait.For)
		}
	}
	return got, waited, err
}

// Who is told a time later than MaxBlock, and asks again at once, is told after MaxBlock what is
// left of that time. At that time it gets what it asks for, whether it waited for it or not.
func TestTheTimeThatWasToldIsNotWaitedForLongerThanMaxBlock(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	from := g.Limit(issue.Rate{PerSecond: 10, Burst: 100}, g.clock, maxBlock)
	c := issue.Connection{User: queue.User{UID: 7}}
	if got, _, err := askRate(t, g, &c, from, 100); got != 100 || err != nil {
		t.Fatalf("of the burst it gets %d: %v", got, err)
	}
	var many *issue.TooManyError
	if _, _, err := askRate(t, g, &c, from, 95); !errors.As(err, &many) || many.After <= 3*maxBlock {
		t.Fatalf("it is told %v, want a time much later than %v", err, maxBlock)
	}
	due := g.clock.Now().Mono + clockguard.Mono(many.After)
	for due.Sub(g.clock.Now().Mono) > maxBlock {
		got, waited, err := askRate(t, g, &c, from, 96)
		if !errors.As(err, &many) || got != 0 || waited != maxBlock {
			t.Fatalf("it gets %d after %v: %v; want to be refused after %v", got, waited, err, maxBlock)
		}
		if want := due.Sub(g.clock.Now().Mono); many.After != want || many.Count != 96 || many.Rate.PerSecond != 10 || many.Largest > 20 {
			t.Fatalf("it is told %+v, want another %v of the user's rate", many, want)
		}
	}
	if got, waited, err := askRate(t, g, &c, from, 95); got != 95 || waited > 2*maxBlock {
		t.Errorf("it gets %d after %v: %v", got, waited, err)
	}
}
