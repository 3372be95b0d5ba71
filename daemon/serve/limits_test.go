package serve

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/internal/must"
)

// until waits for a count of the server's.
func (h *host) until(t *testing.T, what string, met func(Counters) bool) {
	t.Helper()
	must.Soon(t, func() bool { return met(h.Counters()) }, "%s", what)
}

func TestOverTheBudgetTheLargestHalfRequestEndsAndOthersGoOn(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) { c.Budget = budget.New(4 << 20) })
	small := h.dial(t)
	small.send("PING\r\n")
	small.want("+PONG\r\n")
	argument := "$4000\r\n" + strings.Repeat("x", 4000) + "\r\n"
	for range 100 { // what the kernel would keep for the first is more than what it takes to send these
		_, _ = io.WriteString(h.dial(t), "*16\r\n"+strings.Repeat(argument, 15))
	}
	h.until(t, "an end for memory", func(c Counters) bool { return c.Refused[Heavy] > 0 })
	small.send("NEXT\r\n")
	small.want(":0\r\n")
}

func TestWhoTakesTooMuchIsToldSo(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) { c.Budget = budget.New(20 << 10) })
	p := h.dial(t)
	_, _ = io.WriteString(p, "*16\r\n"+strings.Repeat("$4000\r\n"+strings.Repeat("x", 4000)+"\r\n", 10))
	line, err := p.in.ReadString('\n')
	if !strings.HasPrefix(line, "-ERR too much memory: ") {
		t.Errorf("told %q (%v)", line, err)
	}
}

func TestUnreadRepliesKeepToTheBudget(t *testing.T) {
	const most = 4 << 20
	b := budget.New(most)
	h := start(t, newStore(-1), func(c *Config) { c.Budget = b })
	for range 20 {
		p := h.dial(t)
		go func() {
			for {
				if _, err := io.WriteString(p, strings.Repeat("NEXT 10000\r\n", 1000)); err != nil {
					return
				}
			}
		}()
	}
	h.until(t, "an end for memory", func(c Counters) bool { return c.Refused[Heavy] > 0 })
	if used := b.Used(); used > most+most/2 {
		t.Errorf("%d bytes are kept of %d", used, most)
	}
	h.Disconnect()
	if used := b.Used(); used < 0 || used > most {
		t.Errorf("%d bytes are kept after all have ended", used)
	}
}

func TestTheReserveServesWardensThoughAllConnectionsAreUsed(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) {
		c.Limits.Connections, c.Limits.Reserve = 2, 2
		c.Operator = func(u budget.User) bool { return u == budget.User(os.Geteuid()) }
	})
	var all []*peer
	for range 5 {
		p := h.dial(t)
		p.send("PING\r\n")
		p.want("+PONG\r\n")
		all = append(all, p)
	}
	h.until(t, "an end in the reserve", func(c Counters) bool { return c.Refused[Recycled] == 1 })
	all[2].wantEnd() // the oldest in the reserve
	for _, i := range []int{0, 1, 3, 4} {
		all[i].send("PING\r\n")
		all[i].want("+PONG\r\n")
	}
}

func TestWhoMayNotConnectIsToldSo(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) { c.Allow = func(peercred.Credentials) bool { return false } })
	p := h.dial(t)
	p.want(fmt.Sprintf("-ERR not allowed: user %d may not connect; see --allow-uid and --allow-gid of the daemon\r\n", os.Getuid()))
	p.wantEnd()
	if c := h.Counters(); c.Refused[NotAllowed] != 1 || c.Accepted != 0 {
		t.Errorf("%+v", c)
	}
}

// wantRefusal is for a connection that the server closes after one line.
func (p *peer) wantRefusal(begins string) {
	p.t.Helper()
	if line, err := p.in.ReadString('\n'); err != nil || !strings.HasPrefix(line, begins) {
		p.t.Fatalf("got %q (%v), want %s", line, err, begins)
	}
	p.wantEnd()
}

// sleepless is a clock on which nobody may pause.
type sleepless struct {
	clockguard.System
	t *testing.T
}

func (c sleepless) Sleep(ctx context.Context, d time.Duration) error {
	if d < logEvery/2 { // the log's are longer
		c.t.Errorf("a pause of %v", d)
	}
	return c.System.Sleep(ctx, d)
}

// Those who may not connect, or have more connections than others, stand before everybody else in
// the kernel's queue of those who connect.
func TestWhoIsRefusedKeepsNobodyElseWaiting(t *testing.T) {
	var allowed atomic.Bool
	h := start(t, newStore(-1), func(c *Config) {
		c.Clock = sleepless{t: t}
		c.Limits.Connections = 1
		c.Allow = func(peercred.Credentials) bool { return allowed.Load() }
	})
	for range 100 {
		h.dial(t).wantRefusal("-ERR not allowed: ")
	}
	allowed.Store(true)
	p := h.dial(t)
	p.send("PING\r\n")
	p.want("+PONG\r\n")
	for range 100 {
		h.dial(t).wantRefusal("-ERR too many connections: ")
	}
}

func TestAConnectionThatAsksForNothingIsClosedOnlyWhereThatIsAskedFor(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) { c.Limits.IdleTimeout = 50 * time.Millisecond })
	p := h.dial(t)
	p.send("PING\r\n")
	p.want("+PONG\r\n")
	p.wantEnd()
	h.until(t, "an end for idleness", func(c Counters) bool { return c.Refused[Idle] == 1 })
}

func TestARequestThatWaitsIsNotIdle(t *testing.T) {
	s := newStore(0)
	h := start(t, s, func(c *Config) { c.Limits.IdleTimeout = 50 * time.Millisecond })
	waits, idle := h.dial(t), h.dial(t)
	waits.send("NEXT\r\n")
	<-s.waited
	idle.wantEnd()
	s.put(1)
	h.Wake()
	waits.want(":0\r\n")
}
