package issue_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestRatesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]string{"": "none", "none": "none", "5/s": "5/s+5", "100000/s": "100000/s+100000", "100/s+7": "100/s+7"} {
		if rate, err := issue.ParseRate(text); err != nil || rate.String() != want {
			t.Errorf("%q is %v, %v; want %s", text, rate, err, want)
		}
	}
	for _, text := range []string{"100", "0/s", "-1/s", "1/s+0", "1/s+x", "2000000000/s", "7=1/s"} {
		if rate, err := issue.ParseRate(text); err == nil {
			t.Errorf("%q is taken for %v", text, rate)
		}
	}
}

// limited is an issuer whose users have a rate.
func limited(t *testing.T, rate string) (*fixture, func(c *issue.Connection, n int) (generator.Run, issue.Wait)) {
	t.Helper()
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	source := g.Limit(must.Get(issue.ParseRate(rate))(t), g.clock, 2*time.Second)
	return g, func(c *issue.Connection, n int) (generator.Run, issue.Wait) { return source.Take(c, 0, n) }
}

func TestAUserGetsItsRateAndNoMore(t *testing.T) {
	g, take := limited(t, "1000/s+100")
	conns := make([]issue.Connection, 3)
	got := make([]int, len(conns))
	for i := range conns {
		conns[i] = issue.Connection{User: queue.User{UID: 7}, Singles: true}
	}
	const ms = 5000
	for range ms {
		for i := range conns {
			run, wait := take(&conns[i], 10)
			if wait.Err != nil {
				t.Fatal(wait.Err)
			}
			if got[i] += run.N; run.N > 0 {
				conns[i].Begin()
			}
		}
		g.clock.Advance(time.Millisecond)
	}
	sum := 0
	for _, n := range got {
		sum += n
	}
	if sum < ms || sum > ms+100 {
		t.Errorf("in %d ms a user got %d IDs at a rate of 1000/s and a burst of 100", ms, sum)
	}
	for i, n := range got {
		if n < sum/3-100 || n > sum/3+100 {
			t.Errorf("connection %d got %d of %d, want a third", i, n, sum)
		}
	}
	other := issue.Connection{User: queue.User{UID: 8}}
	if run, wait := take(&other, 100); run.N != 100 {
		t.Errorf("another user gets %d of its burst, waits %+v", run.N, wait)
	}
}

// What the refusal names can be had in time, however small the burst is.
func TestARequestOverTheRateIsRefusedAtOnceIfItWouldWaitTooLong(t *testing.T) {
	for rate, over := range map[string]int{"1000/s+100": 5000, "100000/s+20": 1 << 30} {
		g, take := limited(t, rate)
		conn := issue.Connection{User: queue.User{UID: 7}}
		_, wait := take(&conn, over)
		var many *issue.TooManyError
		if !errors.As(wait.Err, &many) || many.Largest < over/50 && many.Largest < 100000 || many.Largest >= over || many.After != 0 {
			t.Fatalf("%d at %s within 2 s: %v", over, rate, wait.Err)
		}
		if code := issue.Code(many); code != "user-rate" || !strings.Contains(many.Error(), "code="+code+": ") {
			t.Errorf("its code is %s, and it says %q", code, many)
		}
		conn.Begin()
		waited := time.Duration(0)
		for n := many.Largest; n > 0; {
			run, wait := take(&conn, n)
			if wait.Err != nil || waited > 2*time.Second {
				t.Fatalf("%s: of the %d that can be had %d are missing after %v: %v", rate, many.Largest, n, waited, wait.Err)
			}
			if n -= run.N; run.N == 0 {
				waited += wait.For
				g.clock.Advance(wait.For)
			}
		}
	}
}

// What can be had once the burst is whole again is refused with the time when that is, and nothing
// else is said to be had later.
func TestARequestForTheWholeBurstIsToldWhenThatIsThere(t *testing.T) {
	g, take := limited(t, "1000/s+100")
	conn := issue.Connection{User: queue.User{UID: 7}}
	var most, now *issue.TooManyError
	if _, wait := take(&conn, 1<<20); !errors.As(wait.Err, &most) || most.After != 0 {
		t.Fatalf("more than ever comes: %+v", wait)
	}
	conn.Begin()
	if run, wait := take(&conn, 100); run.N != 100 {
		t.Fatalf("of the burst there are %d, waits %+v", run.N, wait)
	}
	conn.Begin()
	if _, wait := take(&conn, most.Largest); !errors.As(wait.Err, &now) || now.Largest >= most.Largest || now.After <= 0 {
		t.Fatalf("%d after the burst was taken: %+v", most.Largest, wait)
	}
	g.clock.Advance(now.After)
	conn.Begin()
	if _, wait := take(&conn, most.Largest); wait.Err != nil {
		t.Errorf("%d, after the %v that were told: %v", most.Largest, now.After, wait.Err)
	}
	other := issue.Connection{User: queue.User{UID: 8}}
	if _, wait := take(&other, most.Largest+1); !errors.As(wait.Err, &now) || now.After != 0 {
		t.Errorf("one more than ever comes: %+v", wait)
	}
}

// Who waits for the rate longer than allowed is told the code.
func TestARequestThatWaitsForTheRateTooLongHasItsCode(t *testing.T) {
	g, take := limited(t, "1/s+1")
	conns := make([]issue.Connection, 3)
	for i := range conns {
		conns[i].User = queue.User{UID: 7}
		if run, wait := take(&conns[i], 1); wait.Err != nil || (run.N == 1) != (i == 0) {
			t.Fatalf("connection %d gets %d of the one there is, waits %+v", i, run.N, wait)
		}
	}
	g.clock.Advance(3 * time.Second) // there is one for the two, and they have waited too long
	served, refused := 0, 0
	for i := range conns[1:] {
		run, wait := take(&conns[1+i], 1)
		served += run.N
		if errors.Is(wait.Err, issue.ErrRate) && issue.Code(wait.Err) == "user-rate" {
			refused++
		}
	}
	if served != 1 || refused != 1 {
		t.Errorf("of two that wait for one ID, %d are served and %d refused", served, refused)
	}
}

// Without rates nothing stands between a request and the issuer.
func TestNoRatesCostNothing(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	if _, ok := g.Limit(issue.Rate{}, g.clock, time.Second).(*issue.Issuer); !ok {
		t.Error("without rates, requests are counted")
	}
}

// Of many users, those that came first are shown each on its own for good, and nobody's IDs are
// lost.
func TestUsersAreShownUpToABound(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	source := g.Limit(must.Get(issue.ParseRate("1000/s+100"))(t), g.clock, 2*time.Second).(*issue.Limited)
	const users = 50
	for uid := range uint32(users) {
		c := issue.Connection{User: queue.User{UID: uid}}
		if run, wait := source.Take(&c, 0, 3); run.N != 3 {
			t.Fatalf("user %d: %+v, %+v", uid, run, wait)
		}
	}
	each, rest := source.Usages()
	if len(each) != 32 || rest != 3*(users-32) {
		t.Fatalf("%d users are shown, and %d IDs of the others", len(each), rest)
	}
	for i, u := range each {
		if u.IDs != 3 || i > 0 && u.UID <= each[i-1].UID {
			t.Errorf("user %d is %+v", i, u)
		}
	}
	c := issue.Connection{User: queue.User{UID: 7}}
	_, _ = source.Take(&c, 0, 97)
	c.Begin()
	if run, wait := source.Take(&c, 0, 50); run.N != 0 || wait.For == 0 || source.Waits() != 1 {
		t.Errorf("over the rate it gets %+v, %+v; %d wait", run, wait, source.Waits())
	}
}

// Of thousands that wait for their user's rate, only those need be tried that get something.
func TestOnlyThoseAreTriedWhomTheRateServes(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	source := g.Limit(must.Get(issue.ParseRate("1000/s+1"))(t), g.clock, 2*time.Second).(*issue.Limited)
	conns := make([]issue.Connection, 500)
	try := func(c *issue.Connection) (served bool) {
		t.Helper()
		run, wait := source.Take(c, 0, 1)
		if wait.Err != nil || run.N == 0 && wait.InTurn <= 0 {
			t.Fatalf("a connection waits %+v", wait)
		}
		return run.N > 0
	}
	served := 0
	for i := range conns {
		conns[i] = issue.Connection{User: queue.User{UID: 7}}
		if try(&conns[i]) {
			served++
		}
	}
	tries := 0
	for range len(conns) {
		g.clock.Advance(time.Millisecond)
		var named []*issue.Connection
		again := source.Deal(func(c *issue.Connection) { named = append(named, c) })
		if again <= 0 && served < len(conns) {
			t.Fatalf("%d wait, and nothing is dealt again", len(conns)-served)
		}
		for _, c := range named {
			tries++
			if try(c) {
				served++
			}
		}
	}
	if served != len(conns) || tries > 2*len(conns) {
		t.Errorf("%d of %d are served after %d tries", served, len(conns), tries)
	}
	if again := source.Deal(func(*issue.Connection) { t.Error("a connection is named that does not wait") }); again != 0 {
		t.Errorf("nobody waits, and it is dealt again in %v", again)
	}
}

// A user who was forgotten because it rested has one rate again, whichever of its connections asks.
func TestAUserWhoWasForgottenHasOneRate(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	source := g.Limit(must.Get(issue.ParseRate("100/s+100"))(t), g.clock, 2*time.Second)
	take := func(c *issue.Connection, n int) int {
		c.Begin()
		run, _ := source.Take(c, 0, n)
		return run.N
	}
	const us = 2000
	before, after := issue.Connection{User: queue.User{UID: us}}, issue.Connection{User: queue.User{UID: us}}
	for uid := range uint32(5 * us) {
		c := &issue.Connection{User: queue.User{UID: uid}}
		if uid == us {
			c = &before
		}
		take(c, 1)
		g.clock.Advance(10 * time.Millisecond)
	}
	if got := take(&before, 100) + take(&after, 100); got != 100 {
		t.Errorf("two connections of a user get %d IDs at once, its burst is 100", got)
	}
}
