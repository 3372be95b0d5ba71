package issue_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

// crowd is connections that ask for as much as they can get, again and again.
type crowd struct {
	g       *fixture
	conns   []issue.Connection
	left    []int // of the present request; 0: it has ended
	count   int
	got     int
	refused int
}

func newCrowd(g *fixture, uid uint32, size, count int) *crowd {
	c := &crowd{g: g, conns: make([]issue.Connection, size), left: make([]int, size), count: count}
	for i := range c.conns {
		c.conns[i].User = queue.User{UID: uid}
	}
	return c
}

// poll has each of them take what it can get now.
func (c *crowd) poll(t *testing.T) {
	t.Helper()
	for i := range c.conns {
		for {
			if c.left[i] == 0 {
				c.conns[i].Begin()
				c.left[i] = c.count
			}
			run, wait := c.g.Take(&c.conns[i], 0, c.left[i])
			c.got += run.N
			if c.left[i] -= run.N; run.N > 0 {
				continue
			}
			var many *issue.TooManyError
			if errors.As(wait.Err, &many) {
				c.refused, c.left[i] = c.refused+1, 0
			} else if wait.Err != nil {
				t.Fatalf("what was promised is given up with %d of %d missing: %v", c.left[i], c.count, wait.Err)
			}
			break
		}
	}
}

// One user's batches take nothing from another's single IDs, nor from the same one's, and nobody's
// part of the lane is lost by it.
func TestASingleIDDoesNotWaitForACrowd(t *testing.T) {
	for _, uid := range []uint32{1, 2} {
		g := newFixture(t, "flakeward", issue.Limits{})
		g.clock.Advance(time.Second)
		crowd := newCrowd(g, 1, 200, 65536)
		single := issue.Connection{User: queue.User{UID: uid}}
		const ticks = 3000
		for range ticks {
			crowd.poll(t)
			single.Begin()
			if run, wait := g.Take(&single, 0, 1); run.N != 1 {
				t.Fatalf("user %d: a single ID waits %+v", uid, wait)
			}
			g.clock.Advance(time.Millisecond)
		}
		if most := ticks * perTick; crowd.got < most*98/100 {
			t.Errorf("user %d: the crowd got %d of %d", uid, crowd.got, most)
		}
		if crowd.refused == 0 {
			t.Error("nobody was refused: that is no crowd")
		}
	}
}

// An eighth of each tick is kept for small requests, also while nobody waits.
func TestAnEighthOfATickIsKept(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	var batch issue.Connection
	run, _ := g.Take(&batch, 0, perTick)
	if again, wait := g.Take(&batch, 0, perTick-run.N); run.N != perTick*7/8 || again.N != 0 {
		t.Errorf("a batch gets %d and %d of a tick (%+v), want seven eighths", run.N, again.N, wait)
	}
	for i := range uint32(perTick / 8 / 64) {
		small := issue.Connection{}
		if run, wait := g.Take(&small, 0, 64); run.N != 64 {
			t.Errorf("small request %d gets %d, waits %+v", i, run.N, wait)
		}
	}
	g.clock.Advance(time.Millisecond)
	if run, wait := g.Take(&batch, 0, perTick/8); run.N != perTick/8 {
		t.Errorf("of the next tick it gets %d, waits %+v", run.N, wait)
	}
}

// Small requests that have taken what is kept of a tick have no more kept for them from what was
// dealt to others, whoever asks then.
func TestWhatIsKeptIsKeptOnce(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	var number uint32
	take := func(n int) {
		t.Helper()
		number++
		if run, wait := g.Take(&issue.Connection{}, 0, n); run.N != n {
			t.Fatalf("a request for %d gets %d, %+v", n, run.N, wait)
		}
	}
	small := func(n int) {
		for ; n > 0; n-- {
			take(1)
		}
	}
	take(perTick * 7 / 8)
	small(perTick / 8)
	waiting := issue.Connection{}
	const n = perTick/64 + 1
	if run, wait := g.Take(&waiting, 0, n); run.N != 0 {
		t.Fatalf("the request does not wait: it gets %d, %+v", run.N, wait)
	}
	g.clock.Advance(time.Millisecond)
	take(perTick / 2)
	small(perTick/2 - n - 1)
	g.Take(&issue.Connection{}, 0, perTick/2) // for one there are numbers left
	if run, wait := g.Take(&waiting, 0, n); run.N < perTick/64 {
		t.Errorf("who was dealt %d gets %d, less than a turn; %+v", n, run.N, wait)
	}
}

// Small requests that are dealt more than what is kept take the rest from what large ones get. What
// is kept is still there for those to whom it was dealt.
func TestWhatIsKeptIsForThoseWhoWereDealtIt(t *testing.T) {
	const small, kept = perTick / 64, 8 // requests that have an eighth together
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	g.Take(&issue.Connection{}, 0, perTick*7/8)
	for range kept {
		g.Take(&issue.Connection{}, 0, small)
	}
	all := make([]issue.Connection, 2*kept)
	for i := range all {
		if run, wait := g.Take(&all[i], 0, small); run.N != 0 {
			t.Fatalf("small request %d does not wait: it gets %d, %+v", i, run.N, wait)
		}
	}
	g.clock.Advance(time.Millisecond)
	for i := range all {
		if i == kept {
			g.Take(&issue.Connection{}, 0, perTick)
		}
		of := (i + kept) % len(all) // who was dealt what is kept comes last
		if run, wait := g.Take(&all[of], 0, small); run.N != small {
			t.Errorf("small request %d gets %d, %+v", of, run.N, wait)
		}
	}
}

// What is left of a batch when a burst has served the rest has no part in what is kept.
func TestTheRestOfABatchIsNotSmall(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{Burst: 10 * time.Millisecond})
	g.clock.Advance(time.Second)
	g.Take(&issue.Connection{}, 0, perTick*7/8)
	g.clock.Advance(time.Millisecond)
	g.Take(&issue.Connection{}, 0, perTick*7/8)
	var batch issue.Connection
	n := perTick + 10
	for n > 10 {
		run, wait := g.Take(&batch, 0, n)
		if run.N == 0 {
			t.Fatalf("%d are missing, and it waits %+v", n, wait)
		}
		if _, tick := g.idOf(t, run); tick == g.tick() {
			break
		}
		n -= run.N
	}
	for n > 0 {
		run, _ := g.Take(&batch, 0, n)
		if run.N == 0 {
			break
		}
		n -= run.N
	}
	if room := g.lane.Room(g.tick()); room < perTick/8 {
		t.Errorf("%d of the tick are left, want an eighth", room)
	}
}

// A request that waits in turn, and gets a part from the ring as the clock goes back, gets no more
// than it asked for in the end.
func TestARequestGetsNoMoreThanItAskedFor(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(5 * time.Second)
	var conn issue.Connection
	n := 2*perTick + 100
	take := func() {
		t.Helper()
		run, wait := g.Take(&conn, 0, n)
		if wait.Err != nil {
			t.Fatal(wait.Err)
		}
		if n -= run.N; n < 0 {
			t.Fatalf("it got %d more than it asked for", -n)
		}
	}
	take()
	take() // it waits
	g.clock.Step(-time.Second)
	take() // of the ring
	g.clock.Step(time.Second + 2*time.Millisecond)
	for range 10 {
		if n > 0 {
			take()
			g.clock.Advance(time.Millisecond)
		}
	}
}

// A count that cannot be had within the longest wait is refused before anything is taken for it,
// and the count that the refusal names can be had.
func TestACountThatCannotBeHadIsRefusedAtOnce(t *testing.T) {
	for layout, most := range map[string]int{"sonyflake": 44576, "js53": 44576} {
		g := newFixture(t, layout, issue.Limits{})
		g.clock.Advance(time.Second)
		var conn issue.Connection
		_, wait := g.Take(&conn, 0, 65536)
		var many *issue.TooManyError
		if !errors.As(wait.Err, &many) || many.Largest != most || many.After != 0 {
			t.Fatalf("%s: %v, want at most %d", layout, wait.Err, most)
		}
		if room := g.lane.Room(g.tick()); room != 256 {
			t.Errorf("%s: %d numbers were taken for a request that was refused", layout, 256-room)
		}
		conn.Begin()
		begun := g.clock.Now().Mono
		for n := most; n > 0; {
			run, wait := g.Take(&conn, 0, n)
			if wait.Err != nil {
				t.Fatalf("%s: of %d that can be had %d are missing: %v", layout, most, n, wait.Err)
			}
			if n -= run.N; run.N == 0 {
				g.clock.Advance(wait.For)
			}
		}
		if took := g.clock.Now().Mono.Sub(begun); took > 2*time.Second {
			t.Errorf("%s: %d took %v", layout, most, took)
		}
	}
}

// A connection that was told when to ask again, and asks for as much before, is not refused once
// more but waits. For less it does not.
func TestWhoAsksAgainTooEarlyWaits(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Second)
	crowd := newCrowd(g, 1, 100, 65536)
	crowd.poll(t)
	conn := issue.Connection{User: queue.User{UID: 1}}
	_, wait := g.Take(&conn, 0, 65536)
	var many *issue.TooManyError
	if !errors.As(wait.Err, &many) || many.After <= 0 || many.Largest < 64 {
		t.Fatalf("%v, want a time to ask again", wait.Err)
	}
	conn.Begin()
	if _, wait = g.Take(&conn, 0, 65536); wait.Err != nil || wait.For != many.After {
		t.Errorf("asked again at once, it waits %+v; want %v", wait, many.After)
	}
	conn.Begin()
	if run, wait := g.Take(&conn, 0, 64); run.N != 64 {
		t.Errorf("a small request waits %+v as well", wait)
	}
	g.clock.Advance(many.After)
	conn.Begin()
	if run, wait := g.Take(&conn, 0, 65536); run.N == 0 && wait.Err == nil && wait.For > time.Millisecond {
		t.Errorf("asked when it was told to, it waits %+v", wait)
	}
}

// A client that repeats at once what it can never have is held back: its refusals cost the others
// time.
func TestWhoRepeatsTheImpossibleIsHeldBack(t *testing.T) {
	g := newFixture(t, "js53", issue.Limits{})
	g.clock.Advance(time.Second)
	var conn issue.Connection
	refusals := 0
	for begun := g.clock.Now().Mono; g.clock.Now().Mono.Sub(begun) < 10*time.Second; {
		conn.Begin()
		_, wait := g.Take(&conn, 0, 65536)
		if wait.Err != nil {
			refusals++
		} else {
			g.clock.Advance(wait.For)
		}
	}
	if refusals < 100 || refusals > 110 {
		t.Errorf("%d refusals in 10 s, want some ten a second", refusals)
	}
	conn.Begin()
	if run, wait := g.Take(&conn, 0, 1); run.N != 1 {
		t.Errorf("what can be had waits as well: %+v", wait)
	}
}

// What the ring leaves of a large request is no small one: it has no part in what is kept for
// those.
func TestTheRestOfALargeRequestStaysLarge(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(5 * time.Second)
	take := func(conn *issue.Connection, n int) int {
		t.Helper()
		run, wait := g.Take(conn, 0, n)
		if wait.Err != nil {
			t.Fatal(wait.Err)
		}
		return run.N
	}
	const small, left, kept = 64, 100, perTick / 8
	for n := perTick - left; n > 0; n -= small {
		take(new(issue.Connection), min(n, small))
	}
	g.clock.Advance(time.Second)
	if n := take(new(issue.Connection), perTick-kept); n != perTick-kept {
		t.Fatalf("a large request got %d, want all but what is kept", n)
	}
	g.clock.Step(-time.Second)
	var conn issue.Connection
	if n := take(&conn, left+10); n != left {
		t.Fatalf("the ring gave %d, want the %d that it has", n, left)
	}
	g.clock.Step(time.Second)
	if n := take(&conn, 10); n != 0 {
		t.Errorf("the rest of a large request got %d of what is kept for small ones", n)
	}
	if n := take(new(issue.Connection), 10); n != 10 {
		t.Errorf("a small request got %d of what is kept for it", n)
	}
}

// What the ring leaves of a large request waits beside those that come once the clock is right:
// what both could have alone is not promised to both. And the ring serves nothing that it cannot
// serve whole.
func TestTheRingBreaksNoPromise(t *testing.T) {
	g := newFixture(t, "time=41@100ms,worker=4,sequence=1;epoch=2026-01-01", issue.Limits{})
	const most = 33 // of 2 numbers in a tick, without an eighth, over 19 ticks
	g.clock.Advance(5 * time.Second)
	g.Take(new(issue.Connection), 0, 1)
	g.clock.Step(-time.Second)
	tooMany := func(n int) {
		t.Helper()
		var refused *issue.TooManyError
		if run, wait := g.Take(new(issue.Connection), 0, n); run.N > 0 || !errors.As(wait.Err, &refused) {
			t.Errorf("of %d it gets %d and waits %+v, want a refusal for the count", n, run.N, wait)
		}
	}
	tooMany(most + 1)
	var conn issue.Connection
	if run, wait := g.Take(&conn, 0, most); run.N == 0 {
		t.Fatalf("the ring gives nothing: %+v", wait)
	}
	g.clock.Step(time.Second)
	tooMany(most / 2)
}

// A request behind one that waited has waited since it came: it draws on what the ticks from there
// on left, and on none before.
func TestAQueuedRequestDrawsFromWhenItCame(t *testing.T) {
	for _, came := range []int{0, 1} {
		g := newFixture(t, "flakeward", issue.Limits{})
		g.clock.Advance(time.Second)
		g.Take(&issue.Connection{}, 0, perTick) // all but the reserve
		var conn issue.Connection
		first := g.tick()
		if run, _ := g.Take(&conn, 0, 100); run.N != 0 {
			t.Fatalf("a batch gets %d of the reserve", run.N)
		}
		if came == 0 {
			g.Arrived(&conn)
		}
		g.clock.Advance(time.Millisecond)
		if came == 1 {
			g.Arrived(&conn)
		}
		for _, want := range []generator.Tick{first, first + generator.Tick(came)} {
			run, wait := g.Take(&conn, 0, 100)
			if _, tick := g.idOf(t, run); run.N != 100 || tick != want {
				t.Errorf("came after %d: %d of tick %d (%+v), want 100 of %d", came, run.N, tick-first, wait, want-first)
			}
			conn.BeginQueued()
		}
	}
}

// A request that came while the clock was ahead draws on the ticks that it waits through once that
// is put right: it may not have to wait until then.
func TestAQueuedRequestDrawsWhereTheClockWentBack(t *testing.T) {
	g := newFixture(t, "flakeward", issue.Limits{})
	g.clock.Advance(time.Minute)
	g.Take(&issue.Connection{}, 0, perTick) // all but the reserve
	var conn issue.Connection
	g.Take(&conn, 0, 100)
	g.Arrived(&conn)
	g.clock.Advance(time.Millisecond)
	if run, _ := g.Take(&conn, 0, 100); run.N != 100 {
		t.Fatalf("a batch gets %d after a tick", run.N)
	}
	conn.BeginQueued()
	g.clock.Step(-10 * time.Second)
	g.drop(false)
	g.acquire(t, 2, time.Hour)
	g.Take(&issue.Connection{}, 0, perTick)
	first := g.tick()
	if run, _ := g.Take(&conn, 0, 100); run.N != 0 {
		t.Fatalf("a batch gets %d of the reserve", run.N)
	}
	g.clock.Advance(time.Millisecond)
	run, wait := g.Take(&conn, 0, 100)
	if _, tick := g.idOf(t, run); run.N != 100 || tick != first {
		t.Errorf("%d of tick %d (%+v), want 100 of the one it began to wait in", run.N, tick-first, wait)
	}
}

// Of a small layout's tick one number is kept for small requests. It is one user's in a tick and
// another's in the next, also where large requests come in the midst of each.
func TestWhatIsKeptOfASmallTickIsEachUsersInTurn(t *testing.T) {
	for _, count := range []int{7, 8, 20, 1000} {
		for _, order := range [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}} {
			g := newFixture(t, "time=40@1ms,worker=4,sequence=3;epoch=2026-01-01", issue.Limits{})
			g.clock.Advance(time.Second)
			all := []*crowd{newCrowd(g, 1, 1, count), newCrowd(g, 1, 1, 1), newCrowd(g, 2, 1, 1)}
			var without [3]int // ticks, until now
			for range 300 {
				for _, i := range order {
					before := all[i].got
					all[i].poll(t)
					if without[i]++; all[i].got > before {
						without[i] = 0
					}
				}
				if most := max(without[0], without[1], without[2]); most > 2 {
					t.Fatalf("requests for %d and single ones in the order %v: one gets nothing in %d ticks", count, order, most)
				}
				g.clock.Advance(time.Millisecond)
			}
		}
	}
}

// What ticks have left that nobody who waits can draw on any more is not shared: who comes first
// would get it out of the others' part of the clock's tick.
func TestWhatNobodyCanDrawOnIsNotShared(t *testing.T) {
	g := newFixture(t, "time=40@1ms,worker=4,sequence=8;epoch=2026-01-01", issue.Limits{MaxBlock: 2 * time.Second})
	g.clock.Advance(time.Second)
	var conns [4]issue.Connection
	for i := range conns {
		conns[i] = issue.Connection{User: queue.User{UID: uint32(i)}}
	}
	take := func(i, n int) (got int) {
		t.Helper()
		for got < n {
			run, wait := g.Take(&conns[i], 0, n-got)
			if wait.Err != nil {
				t.Fatal(wait.Err)
			}
			if run.N == 0 {
				break
			}
			got += run.N
		}
		return got
	}
	for take(0, 4) > 0 { // the tick is used up
		conns[0].Begin()
	}
	conns[0].End()
	const left, first, second = 1, 2, 3
	take(left, 1000)
	g.clock.Advance(4 * time.Millisecond)
	take(first, 1000)
	take(second, 1000)
	conns[left].End() // it leaves three ticks, from before the others came
	g.clock.Advance(time.Millisecond)
	a := take(first, 1000)
	b := take(second, 1000)
	if a-b > a/4 || b-a > b/4 || a+b < 128 {
		t.Errorf("of one tick they get %d and %d IDs", a, b)
	}
}
