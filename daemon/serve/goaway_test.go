package serve

import (
	"context"
	"errors"
	"io"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// atTimeouts is a clock whose timeouts are over as soon as the test has seen them begin.
type atTimeouts struct {
	clockguard.Waiter // its other methods are not called
	begins            func()
}

func (c atTimeouts) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	c.begins()
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	return ctx, cancel
}

func (c atTimeouts) Sleep(ctx context.Context, _ time.Duration) error {
	<-ctx.Done()
	return ctx.Err()
}

// silentHTTP is a server that answers nothing.
type silentHTTP struct{ accepted chan<- *WebConn }

func (s silentHTTP) Serve(l net.Listener) error {
	for {
		c, err := l.Accept()
		if err != nil {
			return err
		}
		s.accepted <- c.(*WebConn)
	}
}
func (silentHTTP) SetKeepAlivesEnabled(bool)      {}
func (silentHTTP) Shutdown(context.Context) error { return nil }
func (silentHTTP) Close() error                   { return nil }

// A connection of HTTP/2 that has asked for something since the end began was told to go with the
// reply, by a GOAWAY that names its last stream. A second one that names a later stream is an error
// of the protocol, so it gets none.
func TestWhoAskedAtTheEndIsToldToGoOnce(t *testing.T) {
	accepted := make(chan *WebConn, 2)
	asks := func() {}
	c := Config{HTTP: silentHTTP{accepted}, Clock: atTimeouts{begins: func() { asks() }}}
	a := newWeb(c, &counts{connections: budget.NewConnections(2, 0, nil)})
	a.begin()
	var theirs, ours [2]net.Conn
	var all [2]*WebConn
	l, err := net.Listen("unix", filepath.Join(sockettest.Dir(t), "s"))
	must.Do(t, err)
	defer l.Close()
	for i := range theirs {
		theirs[i], err = net.Dial("unix", l.Addr().String())
		if err == nil {
			ours[i], err = l.Accept()
		}
		must.Do(t, err)
		a.counts.connections.Come(0)
		a.come(ours[i], -1, client{id: int64(i)}, budget.Account{}, []byte(preface))
		all[i] = <-accepted
	}
	asks = func() {
		all[0].Asking(true)
		all[0].Asking(false)
	}
	a.end()
	for i, want := range []string{"", string(goAway)} {
		got, err := io.ReadAll(theirs[i])
		if err := errors.Join(err, theirs[i].Close()); err != nil || string(got) != want {
			t.Errorf("connection %d: %q (%v), want %q", i, got, err, want)
		}
	}
}
