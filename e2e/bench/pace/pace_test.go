package pace

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/sockettest"
	"github.com/flakeward/flakeward/internal/wire"
)

// planned is how many requests a load's schedule has.
func planned(l Load) (n int) {
	for s := newSchedule(l); ; n++ {
		if at, _ := s.next(); at >= lead+int64(l.Length) {
			return n
		}
	}
}

// The server answers nothing until it has every request: a generator that waits for replies would
// never send them all. And what waited longest is the oldest: no reply can come before the last
// request's time, so half of them took half of the length or more.
func TestNothingIsHeldBack(t *testing.T) {
	l := Load{Request: []string{"NEXT"}, Rate: 20000, Connections: 1, Length: 50 * time.Millisecond, Seed: 7}
	n := planned(l)
	size := len(wire.AppendCommand(nil, l.Request...))
	l.Socket = sockettest.Serve(t, func(_ int, c *sockettest.Conn) {
		if _, err := io.CopyN(io.Discard, c, int64(n*size)); err == nil {
			io.WriteString(c, strings.Repeat(":1\r\n", n))
		}
		io.Copy(io.Discard, c)
	})
	r, err := Run(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	if r.Sent != n || r.Refused > 0 || r.Latency.P50 < l.Length/4 || r.Latency.Max < l.Length-5*time.Millisecond {
		t.Errorf("%d requests, %v", n, r.Latency)
	}
}
