package daemon

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/await"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// A reply to RUN has as many IDs as were asked for, or is an error.
func TestReadRuns(t *testing.T) {
	for _, c := range []struct{ reply, want string }{
		{"*3\r\n:1\r\n:100\r\n:5\r\n", ""},
		{"*5\r\n:4\r\n:100\r\n:2\r\n:200\r\n:3\r\n", ""},
		{"*3\r\n:1\r\n:100\r\n:4\r\n", "1 IDs are missing"},
		{"*3\r\n:1\r\n:100\r\n:6\r\n", "a run has 6 IDs"},
		{"*3\r\n:1\r\n:100\r\n:0\r\n", "a run has 0 IDs"},
		{"-UNAVAILABLE later\r\n", "UNAVAILABLE later"},
		{"*3\r\n:1\r\n:100\r\n", "EOF"},
		{"\n", "the reply is"},
	} {
		runs, err := readRuns(bufio.NewReader(strings.NewReader(c.reply)), 5)
		if c.want == "" && (err != nil || runs[0].First != 100) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q: %v, %v; want %q", c.reply, runs, err, c.want)
		}
	}
}

// takenOver listens where a daemon would that has taken over.
func takenOver(t *testing.T) (l net.Listener, path string) {
	t.Helper()
	path = filepath.Join(sockettest.Dir(t), "s")
	l = must.Get(net.Listen("unix", path))(t)
	t.Cleanup(func() { _ = l.Close() })
	return l, path
}

// serveOne answers one request, and returns it, and what came after it.
func serveOne(l net.Listener, reply string) (request, rest string, err error) {
	c, err := l.Accept()
	if err != nil {
		return "", "", err
	}
	defer c.Close() // all has been said
	asked := bufio.NewReader(c)
	if request, err = asked.ReadString('\n'); err != nil {
		return request, "", err
	}
	if _, err = io.WriteString(c, reply); err != nil {
		return request, "", err
	}
	more, err := io.ReadAll(asked)
	return request, string(more), err
}

// Who has taken over is asked for the tenant's IDs, on a connection that ends with the reply.
func TestRelay(t *testing.T) {
	l, path := takenOver(t)
	r := newRelay(path)
	for tenant, want := range []string{"RUN 5\r\n", "RUN 5 TENANT 1\r\n"} {
		served := make(chan error, 1)
		go func() {
			request, rest, err := serveOne(l, "*3\r\n:1\r\n:100\r\n:5\r\n")
			if request != want || rest != "" {
				err = errors.Join(err, errors.New("the request is "+request+rest))
			}
			served <- err
		}()
		runs, err := r.take(t.Context(), uint32(tenant), 5)
		if err != nil || len(runs) != 1 || runs[0] != (generator.Run{First: 100, N: 5}) {
			t.Errorf("tenant %d: %v, %v", tenant, runs, err)
		}
		if err := <-served; err != nil {
			t.Errorf("tenant %d: %v", tenant, err)
		}
	}
}

// A daemon that has taken over, and does not answer, has few connections, and keeps nobody who
// gives up.
func TestRelayToASilentDaemon(t *testing.T) {
	l, path := takenOver(t)
	r := newRelay(path)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, mostRelayed)
	for range mostRelayed {
		go func() {
			_, err := r.take(ctx, 0, 1)
			ended <- err
		}()
		c := must.Get(l.Accept())(t)
		defer c.Close()
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range mostRelayed { // each would have a turn by chance, if there were one
		if _, err := r.take(gone, 0, 1); err != context.Canceled { // an error of the connection has it within
			t.Fatalf("one more than may be passed on: %v", err)
		}
	}
	cancel()
	for range mostRelayed {
		if err := <-ended; err == nil {
			t.Error("IDs came from nowhere")
		}
	}
	must.Do(t, l.Close())
	if _, err := r.take(t.Context(), 0, 1); err == nil || !strings.Contains(err.Error(), "connect") {
		t.Errorf("once they have given up: %v", err)
	}
}

// dry has no IDs.
type dry struct{}

func (dry) Take(*issue.Connection, uint32, int) (generator.Run, issue.Wait) {
	return generator.Run{}, issue.Wait{Event: true}
}
func (dry) Waits(int64)                   {}
func (dry) Issued(int, form.Form, uint64) {}
func (dry) Burnt(uint64)                  {}
func (dry) Took(time.Duration)            {}

// Where users have rates nothing is passed on: it would all be taken from this daemon's own user's.
func TestRatesAreNotPassedBy(t *testing.T) {
	for _, limited := range []*issue.Limited{nil, new(issue.Limited)} {
		l, path := takenOver(t)
		go func() { _, _, _ = serveOne(l, "*3\r\n:1\r\n:100\r\n:5\r\n") }()
		d := &Daemon{config: Config{Socket: Socket{Path: path}}, limited: limited, web: &web{taker: await.New(dry{}, clockguard.System{}, dry{})}}
		passOn(d)
		runs, err := d.web.taker.Take(t.Context(), &issue.Connection{}, 0, 5, form.Integer, nil)
		if limited == nil && (err != nil || len(runs) != 1) || limited != nil && !errors.Is(err, await.ErrOver) {
			t.Errorf("with rates: %v: %v, %v", limited != nil, runs, err)
		}
		d.web.taker.Close()
	}
}
