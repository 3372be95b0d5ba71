package serve

import (
	"net"
	"time"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
)

// engine answers the connections it is given; a loop is one. Only wait, disconnect and freeze
// block.
type engine interface {
	add(c net.Conn, g client) error // takes c over; on an error too
	wake()                          // tries again what waits for a change
	tooMuch()                       // more is kept than the budget allows: ends connections
	live() <-chan struct{}          // closed once the engine has gone round, or has ended
	disconnect()                    // closes the connections that were answered something; returns once nothing more is sent to them
	drain()                         // answers what has been received, then closes each connection; none is added after it
	stop()                          // closes everything; none is added after it
	wait()                          // until drain or stop is through and all that the engine started has ended

	// freeze has the engine stand still until over gets whether it ends, and closes this process's
	// descriptors of its connections. inherit takes over those of another process.
	freeze() (connections []Connection, over chan<- bool, err error)
	inherit(connections []Connection, n *counts)
}

// client is who is at the other end of a connection, and what it took to let it in.
type client struct {
	id      int64
	who     peercred.Credentials
	verdict budget.Verdict
	from    budget.User // who has to give up a connection for it, with budget.Relieve
}

// user is whom what the connection takes is counted for.
func (g client) user() budget.User { return userOf(g.who) }

// reserved reports whether its place is one of the reserve's.
func (g client) reserved() bool { return g.verdict == budget.Reserve || g.verdict == budget.Recycle }

func userOf(who peercred.Credentials) budget.User {
	switch {
	case who.Address.IsValid():
		return budget.AddressUser(peercred.Number(who.Address))
	case !who.Known:
		return budget.Unknown
	}
	return budget.PodUser(who.UID, who.Pod)
}

const (
	readAtOnce = 64 << 10
	// keptBuffer is the largest buffer that an idle connection keeps.
	keptBuffer = 4 << 10
	// vagueWait is how soon a request is tried again whose source does not say when.
	vagueWait = time.Millisecond
)
