package faultproxy

import (
	"io"
	"net"
	"sync"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// twice answers two bytes of a connection, each with one of the replies, and ends it.
func twice(t *testing.T, replies [2]string) (address string) {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	var parts sync.WaitGroup
	parts.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			for _, reply := range replies {
				if _, err := c.Read(make([]byte, 1)); err == nil {
					_, _ = io.WriteString(c, reply) // it may have been cut
				}
			}
			_ = c.Close()
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		parts.Wait()
	})
	return l.Addr().String()
}

func TestCutReplyAt(t *testing.T) {
	replies := [2]string{"one\n", "two\n"}
	all := replies[0] + replies[1]
	p := Listen(t, twice(t, replies))
	ask := func() string {
		t.Helper()
		c := must.Get(net.Dial("tcp", p.Address()))(t)
		defer c.Close()
		must.Get(io.WriteString(c, "12"))(t)
		got, _ := io.ReadAll(c) // a connection that is cut may be reset
		return string(got)
	}
	for n := range int64(len(all)) {
		cut := p.CutReplyAt(n)
		if cut.Fired() {
			t.Fatal("cut before there was a reply")
		}
		if got := ask(); got != all[:n] {
			t.Errorf("cut at %d: %q", n, got)
		}
		<-cut.done
	}
	cut := p.CutReplyAt(3)
	p.Disarm()
	if got := ask(); got != all || cut.Fired() {
		t.Errorf("a cut that was disarmed: %q, fired: %v", got, cut.Fired())
	}
}
