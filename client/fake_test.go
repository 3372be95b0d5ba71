package client_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// fake is a daemon that answers as it is told, without a socket, so that it lives on the clock of a
// synctest bubble.
type fake struct {
	t     *testing.T
	max   int64
	step  int64
	pairs int64                                // runs in a reply
	reply func(ask ask) (text string, ok bool) // nil: IDs; not ok: the connection ends after the text

	serving sync.WaitGroup

	mu    sync.Mutex
	dials []time.Time
	down  error  // what dialling fails with
	uuid  string // of the cluster; empty: none is joined yet
	asks  []ask
	drawn map[int64]time.Time // when the request came that an ID was drawn for
	next  int64
}

// ask is a request for IDs.
type ask struct {
	n      int64
	words  []string
	at     time.Time
	number int // from 1
}

func newFake(t *testing.T) *fake {
	f := &fake{t: t, max: 65536, step: 1, pairs: 1, drawn: map[int64]time.Time{}, next: 1, uuid: wanted}
	t.Cleanup(f.serving.Wait)
	return f
}

func (f *fake) dial(ctx context.Context) (net.Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials = append(f.dials, time.Now())
	if f.down != nil {
		return nil, f.down
	}
	ours, theirs := net.Pipe()
	f.serving.Go(func() { f.serve(theirs) })
	return ours, nil
}

// open opens a client of the fake, which is closed with the bubble.
func (f *fake) open(opts ...client.Option) *client.Client {
	f.t.Helper()
	c := must.Get(client.Open("fake", append([]client.Option{client.Through(f.dial)}, opts...)...))(f.t)
	f.t.Cleanup(func() {
		if err := c.Close(); err != nil {
			f.t.Error(err)
		}
	})
	return c
}

func (f *fake) serve(conn net.Conn) {
	defer conn.Close() // it is a pipe
	in := bufio.NewReader(conn)
	for {
		words, err := sockettest.Request(in)
		if err != nil {
			return
		}
		var text string
		ok := true
		if words[0] == "INFO" {
			info := fmt.Sprintf("# Server\r\nflakeward_version:1\r\nmax_count:%d\r\n\r\n# Cluster\r\ncluster_id:%s\r\nlayout:flakeward\r\n", f.max, f.cluster())
			text = fmt.Sprintf("$%d\r\n%s\r\n", len(info), info)
		} else {
			text, ok = f.answer(words)
		}
		if _, err := io.WriteString(conn, text); err != nil || !ok {
			return
		}
	}
}

func (f *fake) answer(words []string) (text string, ok bool) {
	f.mu.Lock()
	n, err := strconv.ParseInt(words[1], 10, 64)
	if words[0] != "RUN" || err != nil || n < 1 {
		f.t.Errorf("asked for %q", words)
	}
	a := ask{n: n, words: words, at: time.Now(), number: len(f.asks) + 1}
	f.asks = append(f.asks, a)
	reply := f.reply
	f.mu.Unlock()
	if reply != nil {
		if text, ok = reply(a); text != "" || !ok {
			return text, ok
		}
	}
	return f.draw(a), true
}

// draw makes a reply of as many IDs as are asked for.
func (f *fake) draw(a ask) string {
	f.mu.Lock()
	defer f.mu.Unlock()
	var b strings.Builder
	pairs := min(f.pairs, a.n)
	fmt.Fprintf(&b, "*%d\r\n:%d\r\n", 1+2*pairs, f.step)
	for i := range pairs {
		n := a.n / pairs
		if i == 0 {
			n += a.n % pairs
		}
		fmt.Fprintf(&b, ":%d\r\n:%d\r\n", f.next, n)
		for range n {
			f.drawn[f.next] = a.at
			f.next += f.step
		}
		f.next += 1000 * f.step
	}
	return b.String()
}

// counts is how many requests there were, and how many IDs they asked for.
func (f *fake) counts() (asks int, ids int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, a := range f.asks {
		ids += a.n
	}
	return len(f.asks), ids
}

func (f *fake) drawnFor(id int64) time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, ok := f.drawn[id]
	if !ok {
		f.t.Errorf("the ID %d was never drawn", id)
	}
	return at
}

func (f *fake) answers(reply func(ask) (string, bool)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.reply = reply
}

func (f *fake) goes(down error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.down = down
}

// cluster is the one that the daemon is in, and joins has it be another one.
func (f *fake) cluster() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.uuid
}

func (f *fake) joins(uuid string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uuid = uuid
}

func nextID(t *testing.T, c *client.Client) int64 {
	t.Helper()
	id := must.Get(c.Next(t.Context()))(t)
	return id
}
