package serve

import (
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/budget"
)

const (
	arenaSize = 256 << 10
	// largestExtra is room for the largest reply that is appended whole once there is room for
	// another.
	largestExtra = 16 << 10
)

// outbox is the replies that clients have not got yet: those of this round, which are written at
// its end, and the backlogs of clients that do not take theirs.
type outbox struct {
	limits   Limits
	arena    []byte // replies of this round
	sends    []send // who gets which of them
	oversize bool   // one of them is not in the arena
	backlogs int    // bytes, of all connections
}

type send struct {
	to      *conn
	replies []byte
}

func newOutbox(c Config) outbox {
	size := max(arenaSize, 2*(c.Limits.Output+largestExtra))
	return outbox{limits: c.Limits, arena: make([]byte, 0, size)}
}

// full tells whether there is too little room for the replies of one more connection.
func (o *outbox) full() bool {
	return o.oversize || cap(o.arena)-len(o.arena) < o.limits.Output+largestExtra
}

// room is where the next replies are appended.
func (o *outbox) room() []byte { return o.arena[len(o.arena):] }

// add takes replies that were appended to room.
func (o *outbox) add(c *conn, replies []byte) {
	start, n := len(o.arena), len(replies)
	if n == 0 {
		return
	}
	if &replies[0] == &o.arena[:start+1][start] {
		o.arena = o.arena[:start+n]
	} else { // a reply larger than foreseen; the arena does not grow, as it would stay so large
		o.oversize = true
	}
	o.sends = append(o.sends, send{c, replies})
	c.sending++
}

// clear ends the round.
func (o *outbox) clear() {
	clear(o.sends)
	o.sends = o.sends[:0]
	o.oversize = false
	o.arena = o.arena[:0]
}

// backpressured tells whether the client has to take replies before its next request is answered.
func (o *outbox) backpressured(c *conn) bool {
	limit := o.limits.Backlog
	if o.backlogs > o.limits.Backlogs {
		limit = o.limits.Output
	}
	return c.unsent() >= limit
}

// write sends replies, or keeps what the client does not take yet. Its error ends the connection.
func (o *outbox) write(c *conn, replies []byte) unix.Errno {
	if len(c.backlog) == 0 {
		n, errno := writeNow(c.fd, replies)
		if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
			return errno
		}
		replies = replies[n:]
	}
	c.backlog = budget.Append(c.backlog, replies)
	o.backlogs += len(replies)
	return 0
}

// push sends more of the backlog. It returns how much, and an error that ends the connection.
func (o *outbox) push(c *conn) (n int, errno unix.Errno) {
	n, errno = writeNow(c.fd, c.backlog[c.sent:])
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return 0, 0
	}
	c.sent += n
	o.backlogs -= n
	if c.unsent() > 0 && c.sent > len(c.backlog)/2 { // the rest moves once at most for each byte sent
		c.backlog = append(c.backlog[:0], c.backlog[c.sent:]...)
		c.sent = 0
	}
	return n, errno
}

// discard empties the backlog.
func (o *outbox) discard(c *conn) {
	o.backlogs -= c.unsent()
	c.backlog, c.sent = c.backlog[:0], 0
	if cap(c.backlog) > keptBuffer {
		budget.GiveBack(c.backlog)
		c.backlog = nil
	}
}
