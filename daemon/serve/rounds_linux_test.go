package serve

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/need"
)

// scripted is a source that calls a function for each Take.
type scripted func(c *issue.Connection, n int) (generator.Run, issue.Wait)

func (f scripted) Take(c *issue.Connection, _ uint32, n int) (generator.Run, issue.Wait) {
	return f(c, n)
}

// However many requests are due at once, a round tries as many as it has time for: who asks
// meanwhile is answered before the others are tried.
func TestManyDueRequestsDoNotHoldUpWhoAsks(t *testing.T) {
	if after := answeredAfter(t, 100*time.Microsecond); after == 0 || after > 3*lookEvery {
		t.Errorf("answered after %d of many due requests, want at most %d", after, 3*lookEvery)
	}
}

// Each round has a time of its own for what may wait: that of a minute ago is not counted
// against this one.
func TestDueRequestsThatTakeNoTimeAreTriedInOneRound(t *testing.T) {
	if after := answeredAfter(t, 0); after != 0 {
		t.Errorf("who asks is answered after %d of many due requests, and these have taken no time", after)
	}
}

// answeredAfter has many requests become due at once, a minute after they were last tried, and
// another connection ask as the first of them is tried. It returns how many are tried, in so much
// time each, before that is answered; 0: all.
func answeredAfter(t *testing.T, each time.Duration) int64 {
	const waiters = 300
	clock := clocktest.NewManual(time.Unix(1e9, 0))
	clock.Advance(time.Second) // 0 is no time
	waited := make(chan struct{}, waiters)
	var h *host
	var asker *peer
	var trying atomic.Bool
	var pings *atomic.Uint64
	var tries, answered atomic.Int64
	source := scripted(func(_ *issue.Connection, n int) (generator.Run, issue.Wait) {
		if !trying.Load() {
			waited <- struct{}{}
			return generator.Run{}, issue.Wait{Event: true}
		}
		try := tries.Add(1)
		if try == 1 {
			asker.send("PING\r\n")
		}
		if answered.Load() == 0 && pings.Load() > 0 {
			answered.Store(try)
		}
		clock.Advance(each)
		return generator.Run{First: try, N: n}, issue.Wait{}
	})
	var counted tally.Table
	pings = counted.Requests(tally.Request{Dialect: "resp", Command: "PING", Code: tally.OK})
	h = start(t, source, func(c *Config) { c.Clock, c.Count = clock, &counted })
	asker = h.dial(t)
	peers := make([]*peer, waiters)
	for i := range peers {
		peers[i] = h.dial(t)
		peers[i].send("NEXT\r\n")
		<-waited
	}
	h.Wake()
	for range waiters {
		<-waited
	}
	clock.Advance(time.Minute)
	trying.Store(true)
	h.Wake()
	asker.want("+PONG\r\n")
	for _, p := range peers {
		if line, err := p.in.ReadString('\n'); err != nil || line[0] != ':' {
			t.Fatalf("got %q, %v", line, err)
		}
	}
	return answered.Load()
}

// naming is a scripted source whose requests wait in turn: each Deal names one of them.
type naming struct {
	scripted
	named   chan *issue.Connection
	arrived chan *issue.Connection
}

func (s naming) Arrived(c *issue.Connection) { s.arrived <- c }

func (s naming) Deal(name func(*issue.Connection)) time.Duration {
	select {
	case c := <-s.named:
		name(c)
	default:
	}
	return time.Millisecond
}

// What comes behind a request that waits in turn is read when it comes, up to a bound, so that the
// source knows when that was. It is answered after the one that waits.
func TestWhatComesBehindAWaitingRequestIsRead(t *testing.T) {
	tried := make(chan *issue.Connection, 3)
	var give atomic.Bool
	source := naming{arrived: make(chan *issue.Connection, 100), scripted: func(c *issue.Connection, n int) (generator.Run, issue.Wait) {
		if give.Load() {
			return generator.Run{First: 7, N: n}, issue.Wait{}
		}
		tried <- c
		return generator.Run{}, issue.Wait{For: time.Hour, InTurn: time.Hour}
	}}
	h := start(t, source, func(*Config) {})
	other, p := h.dial(t), h.dial(t)
	p.send("NEXT\r\n")
	waits := <-tried
	p.send("PING\r\n")
	if c := <-source.arrived; c != waits {
		t.Fatal("another's request came")
	}
	const more = 2 * readBehind / len("PING\r\n")
	p.send(strings.Repeat("PING\r\n", more))
	<-source.arrived
	for range 3 { // rounds of the loop
		other.send("PING\r\n")
		other.want("+PONG\r\n")
	}
	if n := len(source.arrived); n != 0 {
		t.Errorf("%d more reads behind it, and %d bytes were there", n, readBehind)
	}
	give.Store(true)
	h.Wake()
	p.want(":7\r\n")
	for range 1 + more {
		p.want("+PONG\r\n")
	}
}

// Of the requests that wait in turn, those are tried that the source names, and no other until its
// time is over.
func TestWhoWaitsInTurnIsTriedWhenNamed(t *testing.T) {
	const waiters = 20
	clock := clocktest.NewManual(time.Unix(1e9, 0))
	tried := make(chan *issue.Connection, 3*waiters)
	var give atomic.Pointer[issue.Connection]
	source := naming{named: make(chan *issue.Connection, 1), scripted: func(c *issue.Connection, n int) (generator.Run, issue.Wait) {
		tried <- c
		if give.Load() == c {
			return generator.Run{First: 7, N: n}, issue.Wait{}
		}
		return generator.Run{}, issue.Wait{For: time.Millisecond, InTurn: time.Hour}
	}}
	h := start(t, source, func(c *Config) { c.Clock = clock })
	peers, conns := make([]*peer, waiters), make([]*issue.Connection, waiters)
	for i := range peers {
		peers[i] = h.dial(t)
		peers[i].send("NEXT\r\n")
		conns[i] = <-tried
	}
	for _, i := range []int{13, 5} {
		give.Store(conns[i])
		source.named <- conns[i]
		// The loop may be between its look at the source and its look at the clock, so time goes on
		// until the reply is there.
		var c *issue.Connection
		for c == nil {
			clock.BlockUntil(1)
			clock.Advance(time.Millisecond)
			select {
			case c = <-tried:
			default:
			}
		}
		if c != conns[i] {
			t.Fatal("another was tried than the one that was named")
		}
		peers[i].want(":7\r\n")
	}
	if n := len(tried); n > 0 {
		t.Errorf("%d were tried that nobody named", n)
	}
	clock.BlockUntil(1)
	clock.Advance(time.Hour) // their time is over
	for range waiters - 2 {
		<-tried
	}
}

// newTurns has two users.
func newTurns(t *testing.T, clock clockguard.Clock) (of *turns, h *resp.Handler, many, one *load) {
	t.Helper()
	of = &turns{clock: clock, users: make(map[budget.User]*load)}
	return of, resp.NewHandler(resp.Config{Layout: twitter(t)}), of.come(1, nil), of.come(2, nil)
}

// Of a round with many events each user has its first, wherever in the round they are.
func TestEachUserHasItsFirstEventsOfARound(t *testing.T) {
	turns, h, many, one := newTurns(t, clockguard.System{})
	turns.begin(h, 1000)
	firsts := 0
	for range 999 {
		if turns.first(many) {
			firsts++
		}
	}
	if firsts != fewEvents/2 || !turns.first(one) {
		t.Errorf("one user has %d of the first events, the other has its own: %v", firsts, turns.first(one))
	}
}

// Once the long turns of a round have taken their time, however few events it has, each user has
// one more before the others come.
func TestEachUserHasOneMoreEventOfALongRound(t *testing.T) {
	for _, events := range []int{10, 1000} {
		clock := clocktest.NewManual(time.Unix(1e9, 0))
		turns, h, many, one := newTurns(t, clock)
		turns.begin(h, events)
		for range 2 {
			if !turns.first(many) {
				t.Fatal("a round begins without its first events")
			}
			turns.took(h)
			clock.Advance(longRound)
		}
		turns.took(h)
		for range 3 {
			turns.first(many)
		}
		if turns.first(many) || !turns.first(one) || turns.first(one) {
			t.Errorf("of %d events, users have not one more each", events)
		}
		turns.begin(h, events)
		for range 2 {
			if !turns.first(many) {
				t.Error("the next round is a long one, too")
			}
		}
	}
}

// What may wait has one time together in a round. The clock is looked at after each of it that was
// long, and else after many. One of each kind is answered whatever the time is.
func TestWhatMayWaitHasOneTimeInARound(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(1e9, 0))
	clock.Advance(time.Second)
	turns, h, _, _ := newTurns(t, clock)
	turns.begin(h, 1000)
	turns.start()
	clock.Advance(roundShare)
	turns.start() // another kind of it
	if turns.over(1) {
		t.Error("the clock is looked at after something short")
	}
	if turns.took(h); turns.over(0) {
		t.Error("nothing is answered of what comes next")
	}
	if turns.took(h); !turns.over(1) {
		t.Error("the time is not over after a long turn")
	}
	if turns.over(1) || !turns.over(lookEvery-1) {
		t.Error("the clock is not looked at after each 16")
	}
	turns.since = 0 // the next round
	turns.start()
	if turns.took(h); turns.over(1) {
		t.Error("the next round has no time of its own")
	}
}

// The connections of a user that has thousands share one place among the events of a round, and are
// served all the same.
func TestAUserOfManyConnectionsTakesOnePlaceAmongEvents(t *testing.T) {
	var limit unix.Rlimit
	const more = 50
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil || limit.Cur < 3*(directly+more) {
		need.That(t, fmt.Errorf("the limit of descriptors is %d: `ulimit -n %d`", limit.Cur, 3*(directly+more)))
	}
	h := start(t, newStore(-1), nil)
	peers := make([]*peer, directly+more)
	for i := range peers {
		peers[i] = h.dial(t)
	}
	for round := range 2 {
		for _, p := range peers {
			p.send("ECHO x\r\n")
		}
		for i, p := range peers {
			if line, err := p.in.ReadString('\n'); line != "$1\r\n" {
				t.Fatalf("connection %d of round %d: %q, %v", i, round, line, err)
			}
			p.want("x\r\n")
		}
	}
	for _, p := range peers[:directly+more/2] {
		_ = p.Close()
	}
	last := peers[len(peers)-1]
	last.send("ECHO x\r\n")
	last.want("$1\r\nx\r\n")
}
