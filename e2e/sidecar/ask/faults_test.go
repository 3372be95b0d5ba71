package ask

import (
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// peer is the daemon's side of a connection in a test.
type peer struct{ *sockettest.Conn }

// requests reads so many of them, whatever they ask for.
func (p *peer) requests(t *testing.T, n int) {
	for range n {
		if _, err := sockettest.Request(p.In); err != nil {
			t.Errorf("no request: %v", err)
			return
		}
	}
}

func (p *peer) say(text string) { _, _ = io.WriteString(p, text) }

// arrived waits until there is something to read, and leaves it there.
func (p *peer) arrived(t *testing.T) {
	raw, err := p.SyscallConn()
	if err != nil {
		t.Error(err)
		return
	}
	if err := raw.Read(func(fd uintptr) bool {
		n, _, err := syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return err != syscall.EAGAIN || n > 0
	}); err != nil {
		t.Error(err)
	}
}

// script plays one connection each; the connection is closed when it returns.
type script func(t *testing.T, p *peer)

// fake listens, and plays a script on each connection in turn. over gets a value after each.
func fake(t *testing.T, scripts ...script) (socket string, over chan struct{}) {
	t.Helper()
	over = make(chan struct{}, len(scripts))
	return sockettest.Serve(t, func(number int, c *sockettest.Conn) {
		if number < len(scripts) {
			scripts[number](t, &peer{c})
			_ = c.Close()
			over <- struct{}{}
		}
	}), over
}

// newAsker asks in one way; a count of the way is 3.
func newAsker(socket string, asking evidence.Asking) (*asker, *[]evidence.Reply) {
	c := Config{Socket: socket, Out: "none", Rates: DefaultRates()}
	c.Rates.Pipeline, c.Rates.BatchIDs, c.Rates.RunIDs = 3, 3, 3
	var got []evidence.Reply
	a := &asker{config: c, connections: new(atomic.Uint32), record: func(r evidence.Reply) { got = append(got, r) }}
	for _, w := range c.ways() {
		if w.asking == asking {
			a.way = w
		}
	}
	a.out = []byte(strings.Repeat(string(a.request), a.requests))
	return a, &got
}

// summary describes replies in short.
func summary(replies []evidence.Reply) string {
	var s []string
	for _, r := range replies {
		outcome := map[evidence.Outcome]string{evidence.Got: "got", evidence.Refused: "refused", evidence.Lost: "lost", evidence.Unsent: "unsent"}[r.Outcome]
		for _, id := range expand(r.IDs) {
			outcome += fmt.Sprint(" ", id)
		}
		s = append(s, fmt.Sprintf("%d: %s", r.Connection, outcome))
	}
	return strings.Join(s, ", ")
}

func TestOutcomes(t *testing.T) {
	say := func(n int, text string) script {
		return func(t *testing.T, p *peer) {
			p.requests(t, n)
			p.say(text)
		}
	}
	for name, tt := range map[string]struct {
		asking evidence.Asking
		script script
		asks   int
		want   string
		text   string // in that of the last one
	}{
		"single":          {evidence.Single, say(1, ":5\r\n"), 1, "1: got 5", ""},
		"pipelined":       {evidence.Pipelined, say(3, ":5\r\n:6\r\n:9\r\n"), 1, "1: got 5, 1: got 6, 1: got 9", ""},
		"batch":           {evidence.Batch, say(1, "*3\r\n:5\r\n:6\r\n:9\r\n"), 1, "1: got 5 6 9", ""},
		"runs":            {evidence.InRuns, say(1, "*5\r\n:2\r\n:5\r\n:2\r\n:100\r\n:1\r\n"), 1, "1: got 5 7 100", ""},
		"closed":          {evidence.Single, say(1, ""), 1, "1: lost", "EOF"},
		"closed unread":   {evidence.Single, func(t *testing.T, p *peer) { p.arrived(t) }, 1, "1: lost", Unread},
		"torn":            {evidence.Single, say(1, ":5"), 1, "1: lost", "EOF"},
		"torn batch":      {evidence.Batch, say(1, "*3\r\n:5\r\n:6\r\n"), 1, "1: lost", "EOF"},
		"torn runs":       {evidence.InRuns, say(1, "*3\r\n:1\r\n:5\r\n"), 1, "1: lost", "EOF"},
		"torn error":      {evidence.Single, say(1, "-UNAVAILABLE wa"), 1, "1: lost", "EOF"},
		"torn pipeline":   {evidence.Pipelined, say(3, ":5\r\n:6"), 1, "1: got 5, 1: lost, 1: lost", "EOF"},
		"refused":         {evidence.Single, say(1, "-UNAVAILABLE wait\r\n"), 1, "1: refused", "UNAVAILABLE wait"},
		"refused batch":   {evidence.Batch, say(1, "-ERR no\r\n"), 1, "1: refused", "ERR no"},
		"refused midway":  {evidence.Pipelined, say(3, ":5\r\n-ERR no\r\n:6\r\n"), 1, "1: got 5, 1: refused, 1: got 6", ""},
		"too few":         {evidence.Batch, say(1, "*2\r\n:5\r\n:6\r\n"), 1, "1: refused", "2 IDs instead of 3"},
		"too many":        {evidence.InRuns, say(1, "*3\r\n:1\r\n:5\r\n:4\r\n"), 1, "1: refused", errWrong.Error()},
		"negative":        {evidence.Single, say(1, ":-5\r\n"), 1, "1: refused", errWrong.Error()},
		"no integer":      {evidence.Pipelined, say(3, ":5\r\n+OK\r\n:6\r\n"), 1, "1: got 5, 1: refused, 1: lost", "could not be read"},
		"closed between":  {evidence.Single, say(1, ":5\r\n"), 2, "1: got 5, 1: unsent", "broken pipe"},
		"closed at once":  {evidence.Pipelined, func(*testing.T, *peer) {}, 1, "1: unsent", "broken pipe"},
		"rejected":        {evidence.Single, func(_ *testing.T, p *peer) { p.say("-ERR too many connections\r\n") }, 1, "1: unsent", "too many connections"},
		"closed twice":    {evidence.Single, say(1, ":5\r\n"), 3, "1: got 5, 1: unsent, 1: unsent", "connect"},
		"a very long one": {evidence.Single, say(1, "-ERR "+strings.Repeat("x", 2*maxText)+"\r\n"), 1, "1: refused", "xxx"},
	} {
		t.Run(name, func(t *testing.T) {
			socket, over := fake(t, tt.script)
			a, got := newAsker(socket, tt.asking)
			defer a.hangUp()
			if tt.want[3:] == "unsent" { // the peer closes before the first request
				if err := a.connect(); err != nil {
					t.Fatal(err)
				}
				<-over
			}
			well := true
			for i := range tt.asks {
				if i == 1 {
					<-over
				}
				if i == 2 {
					a.config.Socket += " is gone"
				}
				well = a.ask(t.Context())
			}
			if s := summary(*got); s != tt.want {
				t.Fatalf("%s, want %s (%q)", s, tt.want, (*got)[len(*got)-1].Text)
			}
			last := (*got)[len(*got)-1]
			if !strings.Contains(last.Text, tt.text) || len(last.Text) > maxText || (tt.text == "") != (last.Text == "") {
				t.Errorf("it says %q, want %q in it", last.Text, tt.text)
			}
			if all := !strings.Contains(strings.NewReplacer("lost", "x", "refused", "x", "unsent", "x").Replace(tt.want), "x"); well != all {
				t.Errorf("ask returned %v", well)
			}
			for _, r := range *got {
				if r.Asking != tt.asking || r.Asked <= 0 || r.Answered < r.Asked {
					t.Errorf("impossible: %+v", r)
				}
			}
		})
	}
}
