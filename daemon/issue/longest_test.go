package issue_test

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
)

const longest = 2 * time.Second // MaxBlock of the pools here

// A connection that asks again at once, whatever it was told, never waits longer than MaxBlock: with
// a user's rate, with a tenant's, with none.
func TestNoRequestWaitsLongerThanMaxBlock(t *testing.T) {
	for name, rates := range map[string]issue.Rates{
		"no rate":    {},
		"a user's":   {Each: issue.Rate{PerSecond: 300, Burst: 3000}},
		"a tenant's": {ByTenant: map[uint32]issue.Rate{0: {PerSecond: 200, Burst: 3000}}},
		"both":       {Each: issue.Rate{PerSecond: 300, Burst: 3000}, ByTenant: map[uint32]issue.Rate{0: {PerSecond: 400, Burst: 2000}}},
	} {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
			g := newPool(t, "sonyflake", 1, issue.Limits{})
			g.clock.Advance(time.Second)
			from := g.Limit(rates, g.clock, longest)
			conns := make([]issue.Connection, 8)
			for i := range conns {
				conns[i].Number, conns[i].User = uint32(i), queue.User{UID: uint32(i % 2)}
			}
			left := make([]int, len(conns))
			begun := make([]clockguard.Mono, len(conns))
			waits, refused := 0, 0
			for range 6000 {
				now := g.clock.Now().Mono
				for i := range conns {
					c := &conns[i]
					for tries := 0; tries < 3; tries++ {
						if left[i] == 0 {
							c.Begin()
							left[i], begun[i] = 1+random.IntN(1<<(4+random.IntN(13))), now
						}
						run, wait := from.Take(c, 0, left[i])
						left[i] -= run.N
						if wait.Err != nil {
							refused++
							left[i] = 0
						}
						if run.N == 0 && wait.Err == nil {
							waits++
							if end := now.Sub(begun[i]) + wait.For; end > longest {
								t.Fatalf("connection %d is to wait until %v after it asked", i, end)
							}
							break
						}
					}
				}
				g.clock.Advance(10 * time.Millisecond)
			}
			if waits == 0 || refused == 0 {
				t.Errorf("%d waits and %d refusals show nothing", waits, refused)
			}
		})
	}
}

// Who is told a time later than MaxBlock and asks again at once is refused again, with what is left
// of that time, and the next request of the connection is not held up.
func TestWhoAsksAgainFarTooEarlyIsRefusedAtOnce(t *testing.T) {
	g, take := limited(t, "", "7=1/s+100")
	conn := issue.Connection{User: queue.User{UID: 7}}
	take(&conn, 50)
	var first, second *issue.TooManyError
	conn.Begin()
	if _, wait := take(&conn, 99); !errors.As(wait.Err, &first) || first.After <= longest {
		t.Fatalf("%+v, want a time later than the longest wait", wait)
	}
	g.clock.Advance(10 * time.Second)
	conn.Begin()
	if _, wait := take(&conn, 99); !errors.As(wait.Err, &second) || second.After != first.After-10*time.Second {
		t.Fatalf("asked again after 10 s, it is told %+v, want 10 s less than %v", wait, first.After)
	}
	conn.Begin()
	if run, wait := take(&conn, 1); run.N != 1 {
		t.Errorf("the next request waits %+v", wait)
	}
}

// A request that has waited for its time is promised no more than what comes by its deadline, and is
// refused before anything is taken for it.
func TestARequestThatHasWaitedIsPromisedWhatIsLeft(t *testing.T) {
	g := newPool(t, "sonyflake", 1, issue.Limits{})
	g.clock.Advance(time.Second)
	other := issue.Connection{Number: 1, User: queue.User{UID: 1}}
	conn := issue.Connection{Number: 2, User: queue.User{UID: 1}}
	ask := func(c *issue.Connection, left *int) (got int, err error) {
		for *left > 0 {
			run, wait := g.Take(c, 0, *left)
			if *left -= run.N; run.N == 0 {
				return got, wait.Err
			}
			got += run.N
		}
		return got, nil
	}
	others, n := 20000, 30000
	var many *issue.TooManyError
	if _, err := ask(&other, &others); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(&conn, &n); !errors.As(err, &many) || many.After <= longest/4 || many.After >= longest {
		t.Fatalf("%v, want a time to ask again", err)
	}
	conn.Begin()
	for many = nil; many == nil && n > 0; g.clock.Advance(10 * time.Millisecond) {
		if _, err := ask(&other, &others); err != nil {
			t.Fatal(err)
		}
		got, err := ask(&conn, &n)
		if err != nil && !errors.As(err, &many) {
			t.Fatalf("of what was promised %d are missing: %v", n, err)
		}
		if got > 0 {
			t.Fatalf("a request that has waited gets %d of %d, more than can come by its deadline", got, got+n)
		}
	}
	if many == nil || many.After <= 0 || many.Largest >= n {
		t.Fatalf("it is told %v", many)
	}
	g.clock.Advance(many.After)
	conn.Begin()
	if _, err := ask(&conn, &n); err != nil {
		t.Errorf("asked when it was told to, it is refused: %v", err)
	}
}
