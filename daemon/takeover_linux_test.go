package daemon_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/net/http2"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// asker is a client that never tries again, and wants every ID above the one before.
type asker struct {
	t       *testing.T
	conn    net.Conn
	replies *bufio.Reader
	ids     []int64
}

func dial(t *testing.T, c daemon.Config) *asker {
	t.Helper()
	conn := must.Get(net.Dial("unix", c.Socket.Path))(t)
	t.Cleanup(func() { _ = conn.Close() })
	return &asker{t: t, conn: conn, replies: bufio.NewReader(conn)}
}

func (a *asker) send(text string) {
	if _, err := a.conn.Write([]byte(text)); err != nil {
		a.t.Errorf("a request was not taken: %v", err)
	}
}

// line reads a line of a reply.
func (a *asker) line() string {
	line, err := a.replies.ReadString('\n')
	if err != nil {
		a.t.Errorf("a reply did not come: %v", err)
	}
	return strings.TrimRight(line, "\r\n")
}

// id reads a reply that is an ID.
func (a *asker) id() bool {
	line := a.line()
	id, err := strconv.ParseInt(strings.TrimPrefix(line, ":"), 10, 64)
	if err != nil || line[0] != ':' {
		a.t.Errorf("the reply is %q, want an ID", line)
		return false
	}
	if n := len(a.ids); n > 0 && id <= a.ids[n-1] {
		a.t.Errorf("the ID %d came after %d on one connection", id, a.ids[n-1])
		return false
	}
	a.ids = append(a.ids, id)
	return true
}

// array reads n IDs that were asked for at once: until over is closed no faster than 200 in 50 ms,
// so that there are some left, and no slower, as a client that takes nothing is closed.
func (a *asker) array(n int, over <-chan struct{}) {
	if got := a.line(); got != fmt.Sprint("*", n) {
		a.t.Errorf("NEXT %d: %q", n, got)
		return
	}
	turn := time.NewTicker(50 * time.Millisecond)
	defer turn.Stop()
	for i := range n {
		if i%200 == 0 {
			select {
			case <-over:
			case <-turn.C:
			}
		}
		if !a.id() {
			return
		}
	}
}

// pull asks for IDs in rows of n until stop is closed.
func (a *asker) pull(n int, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		a.send(strings.Repeat("NEXT\r\n", n))
		for range n {
			if !a.id() {
				return
			}
		}
	}
}

// takeOver starts a daemon that takes over from before, and waits until it serves and that one has
// ended.
func takeOver(t *testing.T, before *running) *running {
	t.Helper()
	c := before.config
	c.Takeover = true
	after := startBy(t, c, runUntilTakenOver)
	if err := before.End(); err != nil {
		t.Fatalf("the daemon that was taken over ended with %v", err)
	}
	return after
}

// runUntilTakenOver runs a newcomer, and again where it was too slow: on a busy machine it is left
// out, and the running daemon goes on.
func runUntilTakenOver(ctx context.Context, c daemon.Config) (err error) {
	for range 20 {
		if err = daemon.Run(ctx, c); !errors.Is(err, takeover.ErrBroken) {
			break
		}
	}
	return err
}

// An address goes to the newcomer.
func TestTheAddressGoesToTheNewcomer(t *testing.T) {
	c := config(dir(t))
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t) // a free port
	c.Listen.Address = l.Addr().String()
	must.Do(t, l.Close())
	takeOver(t, start(t, c))
	if reply := overTCP(t, c.Listen.Address, "/readyz", ""); reply.StatusCode != 200 {
		t.Errorf("at the address: %s", reply.Status)
	}
}

// A connection keeps what was agreed on it, and what it is in the middle of.
func TestTakeoverKeepsConnectionsAsTheyAre(t *testing.T) {
	c := config(dir(t))
	d := start(t, c)
	dialled := func() *asker { return dial(t, d.config) }
	named, half, queued, big := dialled(), dialled(), dialled(), dialled()
	named.send("HELLO 3 SETNAME invoices\r\n")
	named.send("NEXT\r\n")
	for line := named.line(); line == "" || line[0] != ':' || !strings.HasPrefix(line, ":1") || len(line) < 10; {
		line = named.line()
	}
	half.send("*2\r\n$4\r\nNEXT\r\n$1\r\n")
	queued.send("MULTI\r\nNEXT\r\nNEXT\r\n")
	for _, want := range []string{"+OK", "+QUEUED", "+QUEUED"} {
		if got := queued.line(); got != want {
			t.Fatalf("MULTI: %q, want %q", got, want)
		}
	}
	before := d.next()
	big.send("NEXT 60000\r\n") // of 15 ticks
	over, read := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(read)
		big.array(60000, over)
	}()
	d = takeOver(t, d)
	close(over)
	named.send("CLIENT GETNAME\r\nPING\r\n")
	if length, name := named.line(), named.line(); length != "$8" || name != "invoices" {
		t.Errorf("the connection's name is %q", name)
	}
	half.send("2\r\n")
	if got := half.line(); got != "*2" || !half.id() || !half.id() {
		t.Errorf("a request that came in halves got %q", got)
	}
	queued.send("EXEC\r\n")
	if got := queued.line(); got != "*2" || !queued.id() || !queued.id() {
		t.Errorf("EXEC: %q", got)
	}
	<-read
	if after := d.next(); after <= before {
		t.Errorf("%d came before the takeover and %d after it", before, after)
	}
}

// A daemon that was replaced stays until it is told to end, where a supervisor would start it
// again.
func TestAReplacedDaemonStays(t *testing.T) {
	c := config(dir(t))
	c.TakeoverStay = true
	early := make(chan bool, 1)
	before := startBy(t, c, func(ctx context.Context, c daemon.Config) error {
		err := daemon.Run(ctx, c)
		early <- ctx.Err() == nil
		return err
	})
	next := before.config
	next.Takeover = true
	after := startBy(t, next, runUntilTakenOver)
	after.until("the replaced daemon waits", func(map[string]string) bool {
		return strings.Contains(before.log.String(), "waiting to be stopped")
	})
	after.next()
	before.Stop()
	if <-early {
		t.Error("it has ended by itself")
	}
}

// A newcomer that finds another cluster in the place of the running daemon's ends the connections:
// their clients have looked at the cluster before.
func TestATakeoverIntoAnotherClusterEndsTheConnections(t *testing.T) {
	c := config(dir(t))
	c.Grant.Publish = time.Minute // until then the running daemon does not look
	before := start(t, c)
	a := dial(t, before.config)
	a.send("NEXT\r\n")
	a.id()
	was := before.info()["cluster_id"]
	must.Do(t, os.Rename(coordDir(before.config), coordDir(before.config)+".old"))
	other := config(dir(t))
	other.Cluster.Coord = before.config.Cluster.Coord
	start(t, other).Stop() // it has made another one there
	after := takeOver(t, before)
	if is := after.info()["cluster_id"]; is == was {
		t.Fatalf("the newcomer is in cluster %s", is)
	}
	must.Do(t, a.conn.SetReadDeadline(time.Now().Add(time.Minute)))
	if _, err := a.replies.ReadByte(); err != io.EOF {
		t.Errorf("the connection goes on: %v", err)
	}
}

// A newcomer that does not fit leaves the running daemon serving.
func TestTakeoverIsRefused(t *testing.T) {
	d := start(t, config(dir(t)))
	before := d.next()
	for what, change := range map[string]func(*daemon.Config){
		"layout":         func(c *daemon.Config) { c.IDs.Layout = "twitter;epoch=2026-01-01" },
		"coordinator":    func(c *daemon.Config) { c.Cluster.Coord += "2" },
		"--socket-group": func(c *daemon.Config) { c.Socket.Group = "no-such-group" },
	} {
		c := d.config
		c.Takeover = true
		change(&c)
		err := launch(t, c).Refusal()
		var refused *takeover.RefusedError
		if errors.As(err, &refused) == strings.HasPrefix(what, "--") || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "running daemon") {
			t.Errorf("another %s: %v", what, err)
		}
	}
	if after := d.next(); after <= before {
		t.Errorf("%d came before the refusals and %d after them", before, after)
	}
}

// A newcomer that is gone, or says nothing, when it should have everything leaves the running
// daemon serving, above what it had issued. Connections of HTTP/2 stay.
func TestTakeoverThatFailsLeavesTheRunningDaemon(t *testing.T) {
	d := start(t, config(dir(t)))
	started := time.Now()
	a, stop := dial(t, d.config), make(chan struct{})
	var pulling sync.WaitGroup
	pulling.Go(func() { a.pull(3, stop) })
	h := dialHTTP2(t, d.config)
	for i, silent := range []bool{false, true, false} {
		age := time.Since(started)
		p := askFor(t, d)
		if p.Age < age {
			t.Errorf("the running daemon says that it is %v old, and is %v", p.Age, age)
		}
		must.Do(t, p.Ready(t.Context(), true))
		if !silent {
			must.Do(t, p.Close())
		}
		d.until("the running daemon goes on", func(info map[string]string) bool {
			return strings.Count(d.log.String(), "the newcomer did not take over") == i+1 && info["state"] == "ready"
		})
		_ = p.Close()
		stream := uint32(2*i + 1)
		h.ask(stream)
		h.until("a reply", func(f http2.Frame) bool {
			if _, goes := f.(*http2.GoAwayFrame); goes {
				t.Error("a connection of HTTP/2 is told to go")
			}
			return h.ended(stream)(f)
		})
	}
	d = takeOver(t, d)
	close(stop)
	pulling.Wait()
}

// askFor asks a daemon as a newcomer that fits does.
func askFor(t *testing.T, d *running) *takeover.Predecessor {
	t.Helper()
	layout := must.Get(generator.ParseLayout(d.config.IDs.Layout))(t)
	settings := takeover.Settings{
		Layout: fmt.Sprintf("%s;datacenter=%d", layout, d.config.IDs.Datacenter), Coord: d.config.Cluster.Coord,
	}
	for {
		p, err := takeover.Ask(t.Context(), d.config.Socket.Path, "test", settings)
		if errors.Is(err, takeover.ErrNobody) { // it serves a moment before it listens for the next one
			continue
		}
		must.Do(t, err)
		return p
	}
}

// Without a running daemon, --takeover starts as usual, and without --takeover a second daemon is
// refused.
func TestTakeoverOfNobody(t *testing.T) {
	c := config(dir(t))
	c.Takeover = true
	d := start(t, c)
	d.next()
	c = d.config
	c.Takeover = false
	if err := launch(t, c).Refusal(); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("a second daemon: %v", err)
	}
	d.Stop()
	d = start(t, d.config)
	d.next()
}
