package serve

import (
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/budget"
)

// freezing is a loop's standstill.
type freezing struct {
	found chan []Connection // gets the connections once the loop stands still
	over  chan bool         // gets whether the loop ends
}

func (b *inbox) freeze() (found []Connection, over chan<- bool, err error) {
	f := &freezing{found: make(chan []Connection), over: make(chan bool)}
	if !b.ask(func(r *requests) { r.freeze = f }) {
		return nil, nil, ErrNotFrozen
	}
	found, ok := <-f.found
	if !ok {
		return nil, nil, ErrNotFrozen
	}
	return found, f.over, nil
}

// hold tells what connections the loop has, and waits. It reports whether the loop is to end.
func (f *freezing) hold(l *loop) (end bool) {
	l.room.adoptAll(true)
	l.flush()
	var all []Connection
	for _, c := range l.conns {
		if c != nil {
			all = append(all, c.handed())
		}
	}
	f.found <- all
	return <-f.over
}

// handed is the connection as another process goes on with it.
func (c *conn) handed() Connection {
	return Connection{
		FD: c.fd, ID: c.id, Peer: c.who, In: c.in, Out: c.backlog[c.sent:], Closing: c.closing, Told: c.dialect == speaksRESP, Session: c.session.Save(),
	}
}

// inherit goes on with connections of another process.
func (b *inbox) inherit(connections []Connection, n *counts) {
	for _, from := range connections {
		g := client{id: from.ID, who: from.Peer, verdict: budget.Admit}
		n.connections.Adopt(g.user())
		n.accepted.Add(1)
		c := newConn(from.FD, g)
		c.closing, c.taken = from.Closing, &from
		c.session.Restore(from.Session)
		c.session.SetOwner(c)
		if from.Told {
			c.dialect = speaksRESP
		}
		if !b.ask(func(r *requests) { r.fresh = append(r.fresh, c) }) {
			_ = unix.Close(c.fd)
			n.end(g.user())
		}
	}
}

// goOn serves what another process has left of the connection to be served.
func (c *conn) goOn(l *loop, from *Connection) {
	c.taken = nil
	c.in = budget.Append(nil, from.In)
	if len(from.Out) > 0 {
		l.send(c, from.Out)
	}
	if c.fd >= 0 && !c.closing && (len(c.in) > 0 || c.session.Busy()) {
		c.more = true
		l.queue(c)
	}
	l.finish(c)
}
