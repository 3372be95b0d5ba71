package serve

import (
	"context"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon/budget"
)

type connKey struct{}

// Where requests of a connection have more kept than the budget allows, it is that connection which
// ends: neither an older one that speaks HTTP nor one that speaks RESP and has half a request. What
// ends with a request counts no more.
func TestOverTheBudgetTheConnectionEndsWhoseRequestsTakeMost(t *testing.T) {
	const most = 8 << 20
	b := budget.New(most)
	h := start(t, newStore(-1), func(c *Config) {
		answering(func(w http.ResponseWriter, r *http.Request) {
			of := r.Context().Value(connKey{}).(*WebConn)
			switch r.URL.Path {
			case "/much":
				of.Hold(most)
				<-r.Context().Done()
				of.Hold(-most) // it has ended
			case "/some":
				of.Hold(most / 2)
				of.Hold(-most / 2)
			}
			sayPath(w, r)
		})(c)
		c.HTTP.(*http.Server).ConnContext = func(ctx context.Context, c net.Conn) context.Context { return context.WithValue(ctx, connKey{}, c) }
		c.Budget = b
	})
	redis, old := h.dial(t), h.dial(t)
	argument := "$4000\r\n" + strings.Repeat("x", 4000) + "\r\n"
	redis.send("*12\r\n" + strings.Repeat(argument, 11))
	old.send(getX)
	old.wantResponse(200, "/x")
	for range 2 {
		much := h.dial(t)
		much.send(strings.Replace(getX, "/x", "/much", 1))
		much.wantEnd()
	}
	h.until(t, "two ends for memory", func(c Counters) bool { return c.Refused[Heavy] == 2 })
	for range 3 {
		old.send(strings.Replace(getX, "/x", "/some", 1))
		old.wantResponse(200, "/some")
	}
	redis.send(argument)
	redis.want("-ERR unknown command")
	_, _ = redis.Close(), old.Close()
	h.until(t, "no connection", func(c Counters) bool { return c.Connections == 0 })
	if used := b.Used(); used != 0 {
		t.Errorf("%d bytes are kept for nobody", used)
	}
}
