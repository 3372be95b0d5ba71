package zk

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	gozk "github.com/go-zookeeper/zk"
	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord/internal/mutex"
)

// session is the client library's connection with what this side knows of it. The
// library reconnects by itself, and opens a new session when the servers say that
// the old one has expired. Nothing that must be safe hangs on what it believes
// meanwhile: that only decides whether a request is sent or waits.
type session struct {
	client *client
	conn   *gozk.Conn
	events <-chan gozk.Event // closed by the library when its last goroutine ends
	dialer *dialer

	login mutex.Mutex
	given []string // passwords that the library gives to each connection, guarded by login

	mu       sync.Mutex
	id       int64         // of the last session, 0 before the first
	number   int           // of the connection: how many there have been
	up       bool          // the library has a session with a server
	ready    chan struct{} // closed while it has
	reported bool          // this outage has been logged
}

// openSession starts the library. No error does not mean that a server was found.
func openSession(c *client) (*session, error) {
	n := &session{client: c, dialer: newDialer(c), login: mutex.New(), ready: make(chan struct{})}
	// The library's first event may come before it has returned.
	n.mu.Lock()
	defer n.mu.Unlock()
	var err error
	n.conn, n.events, err = gozk.Connect(c.servers.Addresses, c.config.Timeout,
		gozk.WithHostProvider(n.dialer), gozk.WithDialer(n.dialer.dial),
		gozk.WithEventCallback(n.event), gozk.WithLogger(bridge{c.config.Log}),
		gozk.WithMaxBufferSize(maxReply), gozk.WithMaxConnBufferSize(maxRequest))
	if err != nil {
		return nil, fmt.Errorf("%s: connect: %w", c.name, err)
	}
	return n, nil
}

// event is called by the library, one event after the other, and must not wait.
func (n *session) event(e gozk.Event) {
	if e.Type != gozk.EventSession {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	switch e.State {
	case gozk.StateHasSession:
		n.begin(e.Server)
	case gozk.StateDisconnected:
		n.end()
	case gozk.StateExpired:
		n.client.config.Log.Warn("the coordinator session expired: claiming again", "session", hex(n.id))
		n.client.config.Expired()
	}
}

// begin is for a server that has opened or resumed a session.
func (n *session) begin(server string) {
	n.up = true
	n.number++
	close(n.ready)
	n.dialer.serves()
	id := n.conn.SessionID()
	resumed := id == n.id
	n.id = id
	given := n.dialer.opened()
	n.reported = false
	n.client.config.Log.Info("connected", "server", server, "session", hex(id), "resumed", resumed, "timeout", given)
	if !resumed && given != n.client.config.Timeout {
		n.client.config.Log.Warn("the servers give sessions another timeout than was asked for; set minSessionTimeout and maxSessionTimeout there if that matters",
			"asked", n.client.config.Timeout, "given", given)
	}
}

// end is for a connection that ended, or that could not be made.
func (n *session) end() {
	if n.up {
		n.up, n.ready = false, make(chan struct{})
	}
	if n.id != 0 && !n.reported && n.client.life.Err() == nil {
		n.reported = true
		n.client.config.Log.Warn("lost the connection to the coordinator; reconnecting", "session", hex(n.id))
	}
}

// logIn has the library give a user's password to each connection, before any request, unless it
// does. A connection can be several users.
func (n *session) logIn(password string, add func() error) error {
	if err := n.login.LockContext(n.client.life); err != nil {
		return errClosed
	}
	defer n.login.Unlock()
	for !slices.Contains(n.given, password) {
		before := n.connection()
		if err := add(); err != nil {
			return err
		}
		if n.connection() == before { // otherwise it may have been too late for the new one
			n.given = append(n.given, password)
		}
	}
	return nil
}

// connection is the present connection's number.
func (n *session) connection() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.number
}

// gate returns a channel that is closed once requests may be sent.
func (n *session) gate() <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.ready
}

// What the library gets to end: closeGrace after a server has ended the
// session, and lastGrace more after the connection was ended too.
const (
	closeGrace = 200 * time.Millisecond
	lastGrace  = 2 * time.Second
)

// close ends the session on the server, which the library waits for up to a second, or
// three if it is stuck, and waits for all goroutines. The client's life has ended before.
func (n *session) close() error {
	n.mu.Lock()
	up, id := n.up, n.id
	n.mu.Unlock()
	inTime, err := n.quit()
	if err == nil && id != 0 && !(up && inTime) {
		err = fmt.Errorf("%s: end the session: no server answered in time; its claims are freed when it expires (%w)", n.client.name, context.DeadlineExceeded)
	}
	return err
}

// quit ends the library and waits for its goroutines. It reports whether they ended
// before the connection was cut.
func (n *session) quit() (inTime bool, err error) {
	n.conn.Close()
	if n.ended(closeGrace) {
		return true, nil
	}
	n.dialer.cut() // it waits for an answer, or to be able to send
	if !n.ended(lastGrace) {
		return false, fmt.Errorf("%s: end the session: the client library does not end and is left behind, with its goroutines; "+
			"it ends with this process, and its claims are freed when the session expires", n.client.name)
	}
	return false, nil
}

// ended waits for the library's goroutines, and reports whether they have ended.
func (n *session) ended(grace time.Duration) bool {
	ctx, cancel := context.WithTimeout(context.Background(), grace)
	defer cancel()
	for more := true; more; {
		select {
		case _, more = <-n.events:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func hex(id int64) string { return fmt.Sprintf("%#x", uint64(id)) }

// bridge lets the library log to hclog. What it says is for debugging: what an
// operator should know is logged by the session, or is in the error of a call. The
// library logs addresses, session IDs and errors, and no user or password.
type bridge struct{ log hclog.Logger }

// Printf implements the library's Logger.
func (b bridge) Printf(format string, args ...any) {
	if b.log.IsDebug() {
		b.log.Debug(fmt.Sprintf("client library: "+format, args...))
	}
}
