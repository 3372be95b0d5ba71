package serve

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

// A client that stops reading is no longer answered once so many replies are waiting for it, and
// ends.
func TestClientThatStopsReading(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) {
		c.Limits = Limits{WriteTimeout: 200 * time.Millisecond, Backlog: 100 << 10}
	})
	healthy, deaf := h.dial(t), h.dial(t)
	many := strings.Repeat("NEXT 10000\r\n", 1000)
	var err error
	for err == nil {
		_, err = io.WriteString(deaf, many) // blocks, because nothing is read from it either, until it is cut off
	}
	var netErr net.Error
	if errors.As(err, &netErr) && netErr.Timeout() {
		t.Fatal("it is not cut off")
	}
	healthy.send("PING\r\n")
	healthy.want("+PONG\r\n")
	// An ID takes 5 bytes at least; the kernel's buffers hold less than 1 MiB.
	if ids := h.Counters().IDs; ids > (1<<20+100<<10)/5 {
		t.Errorf("%d IDs were made for it", ids)
	}
}

// More replies than may be kept reach a client that reads them late.
func TestSlowReaderGetsAll(t *testing.T) {
	h := start(t, newStore(-1), func(c *Config) { c.Limits.Backlog = 100 << 10 })
	p := h.dial(t)
	const times = 6
	p.send(strings.Repeat("NEXT 65536\r\n", times))
	other := h.dial(t) // the first one's replies are underway when this is answered
	other.send("PING\r\n")
	other.want("+PONG\r\n")
	for i := range times {
		p.want("*65536\r\n")
		var ids []byte
		for j := range 65536 {
			ids = fmt.Appendf(ids, ":%d\r\n", i*65536+j)
		}
		p.want(string(ids))
	}
}
