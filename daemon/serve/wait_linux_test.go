package serve

import (
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/daemon/issue"
)

// Who has waited longest is served first, and who got something queues up again behind the others.
func TestWaitingIsFirstComeFirstServed(t *testing.T) {
	s := newStore(0)
	h := start(t, s, nil)
	var peers []*peer
	for range 5 {
		p := h.dial(t)
		p.send("*1\r\n$4\r\nNEXT\r\n*1\r\n$4\r\nNEXT\r\n")
		<-s.waited
		peers = append(peers, p)
	}
	for i, p := range append(peers, peers...) {
		s.put(1)
		h.Wake()
		p.want(":" + string(rune('0'+i)) + "\r\n")
		// The others are asked in turn, and so is the one that got something, for its second.
		waiters := 5
		if i >= 5 {
			waiters = 9 - i
		}
		for range waiters {
			<-s.waited
		}
	}
}

// The wait is on the daemon's clock: nothing is tried before it has passed, and everything is then.
func TestWaitIsOnTheClock(t *testing.T) {
	clock := clocktest.NewManual(time.Unix(1e9, 0))
	s := newStore(0)
	s.wait = issue.Wait{For: 700 * time.Microsecond}
	h := start(t, s, func(c *Config) { c.Clock = clock })
	p, other := h.dial(t), h.dial(t)
	p.send("NEXT\r\n")
	<-s.waited
	clock.BlockUntil(1)
	s.put(5)
	clock.Advance(699 * time.Microsecond)
	h.Wake() // changes are not what it waits for
	other.send("PING\r\nNEXT\r\n")
	other.want("+PONG\r\n:0\r\n")
	clock.Advance(time.Microsecond)
	p.want(":1\r\n")
}

// A crowd of clients that each wait for their replies is served between batching sleeps, and each
// gets its own.
func TestCrowd(t *testing.T) {
	const clients, requests = 2 * batchActive, 200
	h := start(t, newStore(clients*requests), nil)
	var all sync.WaitGroup
	for range clients {
		p := h.dial(t)
		all.Go(func() {
			last := -1
			for range requests {
				if _, err := p.Write([]byte("NEXT\r\n")); err != nil {
					t.Error(err)
					return
				}
				reply, err := p.in.ReadString('\n')
				id, syntax := strconv.Atoi(strings.TrimSuffix(strings.TrimPrefix(reply, ":"), "\r\n"))
				if err != nil || syntax != nil || id <= last {
					t.Errorf("got %q after %d, %v", reply, last, err)
					return
				}
				last = id
			}
		})
	}
	all.Wait()
	if n := h.Counters().IDs; n != clients*requests {
		t.Errorf("%d IDs, want %d", n, clients*requests)
	}
}

// Who waits for IDs is counted as long as that takes.
func TestWaitingIsCounted(t *testing.T) {
	s := newStore(0)
	h := start(t, s, nil)
	p := h.dial(t)
	p.send("NEXT\r\n")
	<-s.waited
	other := h.dial(t)
	other.send("PING\r\n")
	other.want("+PONG\r\n") // a later turn of the loop
	if c := h.Counters(); c.Waiting != 1 {
		t.Errorf("%d wait, want 1", c.Waiting)
	}
	s.put(-1)
	h.Wake()
	p.want(":0\r\n")
	if c := h.Counters(); c.Waiting != 0 {
		t.Errorf("%d wait after the reply", c.Waiting)
	}
}
