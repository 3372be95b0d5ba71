package serve

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/resp"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// still is a loop whose rounds the test has it do.
type still struct {
	*loop
	t *testing.T
}

func newStill(t *testing.T, source resp.Source, clock clockguard.Clock) still {
	s := New(Config{Source: source, Layout: twitter(t), Clock: clock})
	l := must.Get(newLoop(s.config, s.web))(t)
	t.Cleanup(func() {
		l.dropAll(nil)
		l.close()
	})
	return still{l, t}
}

// come adds a connection of a user's. It returns the client's end.
func (l still) come(uid uint32) (*conn, int) {
	pair := must.Get(unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0))(l.t)
	l.t.Cleanup(func() { _ = unix.Close(pair[1]) })
	g := client{who: peercred.Credentials{Known: true, UID: uid}, id: int64(pair[0])}
	g.verdict, g.from = l.counts.connections.Come(budget.User(uid))
	c := newConn(pair[0], g)
	l.adopt(c)
	return c, pair[1]
}

// event is one of a connection's.
func event(c *conn, events uint32) unix.EpollEvent {
	return unix.EpollEvent{Events: events, Fd: int32(c.fd)}
}

// slowly is a clock of which each reading takes some time.
type slowly struct {
	*clocktest.Manual
	by time.Duration
}

func (c slowly) Now() clockguard.Reading {
	c.Advance(c.by)
	return c.Manual.Now()
}

// Of connections that end, a round drops no more than it has time for: each takes the kernel as
// long as it takes to read what it leaves unread.
func TestManyThatEndDoNotHoldUpWhoAsks(t *testing.T) {
	const ending, most = 300, lookEvery
	l := newStill(t, newStore(-1), slowly{clocktest.NewManual(time.Unix(1e9, 0)), roundShare / 4})
	events := make([]unix.EpollEvent, ending)
	for i := range events {
		c, _ := l.come(1)
		events[i] = event(c, unix.EPOLLHUP)
	}
	asker, _ := l.come(2)
	for last := l.connected; last > 1; {
		l.turns.since = 0 // as each round begins
		l.round.answer(append(slices.Clone(events), event(asker, 0)))
		if n := last - l.connected; n == 0 || n > most {
			t.Fatalf("a round drops %d connections, want 1 to %d", n, most)
		}
		last = l.connected
	}
}

// Who asks little in a round with long turns has its reply before the events that were put off.
func TestWhoAsksLittleHasItsReplyBeforeWhatIsPutOff(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(1e9, 0))
	takes, before := 0, 0
	var client int
	l := newStill(t, scripted(func(_ *issue.Connection, n int) (generator.Run, issue.Wait) {
		takes++
		var reply [16]byte
		if n, _, err := unix.Recvfrom(client, reply[:], unix.MSG_DONTWAIT|unix.MSG_PEEK); err == nil && n > 0 && before == 0 {
			before = takes
		}
		clock.Advance(longRound)
		return generator.Run{First: int64(takes), N: n}, issue.Wait{}
	}), clock)
	var events []unix.EpollEvent
	long := []byte("NEXT\r\n" + strings.Repeat("PING\r\n", longTurn/len("PING\r\n")))
	for range 10 {
		c, end := l.come(1)
		must.Get(unix.Write(end, long))(t)
		events = append(events, event(c, unix.EPOLLIN))
	}
	asker, end := l.come(2)
	client = end
	must.Get(unix.Write(client, []byte("PING\r\n")))(t)
	l.round.answer(append(events, event(asker, unix.EPOLLIN)))
	l.flush()
	var reply [16]byte
	if n, err := unix.Read(client, reply[:]); errors.Is(err, unix.EAGAIN) || string(reply[:n]) != "+PONG\r\n" {
		t.Fatalf("got %q, %v", reply[:max(n, 0)], err)
	}
	if before == 0 {
		t.Errorf("%d requests were answered, and none after the reply was there", takes)
	}
}
