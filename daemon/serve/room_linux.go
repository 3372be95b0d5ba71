package serve

import (
	"slices"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/resp"
)

const (
	// connectionBytes is what a connection takes that is idle and has no buffers.
	connectionBytes = 1 << 10
	// The first connections have the system's send buffer, those that come after them less and
	// less, so that what the kernel keeps for all stays within the budget, too.
	bufferShare = 32
	leastBuffer = 2 << 10 // the kernel takes twice as much
)

// room lets connections into the loop, keeps their accounts, and decides which of them have to end:
// for others, for memory, or because they are idle.
type room struct {
	*loop
	over     bool        // more is kept than the budget allows
	heaviest budget.User // for whom most is kept, while that is so
	excess   int64       // bytes that have yet to be given up
	most     int         // the weight of the heaviest connection when that was looked for
	at       int         // the place in conns up to which they have been looked at since
	swept    uint32      // batching's epoch when idle connections were looked for last
}

// adoptedAtOnce is how many connections are adopted in a round.
const adoptedAtOnce = 32

// adoptAll adopts the connections that have come: all of them, or as many as hold up nobody.
func (r *room) adoptAll(all bool) {
	n := len(r.fresh)
	if !all {
		n = min(n, adoptedAtOnce)
	}
	for _, c := range r.fresh[:n] {
		r.adopt(c)
	}
	r.fresh = slices.Delete(r.fresh, 0, n)
}

// update brings the connection's account up to date.
func (r *room) update(c *conn) {
	n := connectionBytes + c.kernel + cap(c.in) + cap(c.backlog) + c.session.Held()
	if n != c.account.Held() {
		r.over = c.account.Hold(n) || r.over
	}
}

// sendBuffer is how many bytes the kernel may keep of what a client does not take. It is lowered
// where there are many connections.
func (r *room) sendBuffer(fd int) int {
	n, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	if err != nil {
		return 0
	}
	most := r.config.Budget.Limit() / bufferShare / (int64(r.connected) + r.web.many.Load() + 1)
	if most >= int64(n) {
		return n
	}
	_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, int(max(leastBuffer, most/2)))
	n, _ = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF)
	return n
}

// shed ends connections until the budget is kept to: of the user for whom most is kept, those that
// cause most, or the longest idle where none causes much. Where that takes long, it goes on in the
// next round, and until then nothing more is read from that user.
func (r *room) shed() {
	if !r.over {
		return
	}
	r.turns.start()
	for r.over {
		if r.excess <= 0 {
			idlest := r.lookForMost()
			r.over = r.excess > 0
			theirs := func(c client) bool { return c.user() == r.heaviest }
			if _, most := r.web.first(theirs, true); r.over && (r.most <= keptBuffer || most > r.most) {
				// One that speaks HTTP takes more than one that is idle, and its requests may take
				// most.
				if !r.web.relieve(theirs, Heavy) {
					if r.over = idlest != nil; r.over { // or it is another server's
						r.end(idlest, Heavy)
					}
				}
				if r.excess = 0; r.turns.late() {
					return
				}
			}
			continue
		}
		if r.at == len(r.conns) {
			r.excess = 0
			continue
		}
		if c := r.conns[r.at]; c != nil && c.user() == r.heaviest && c.weight() > r.most/2 {
			r.excess -= int64(c.account.Held())
			if r.evict(c); r.turns.late() {
				return
			}
		}
		r.at++
	}
}

// lookForMost finds whose connections have to end, and returns the longest idle of them; nil: none.
func (r *room) lookForMost() (idlest *conn) {
	r.heaviest, r.excess = r.config.Budget.Heaviest()
	r.most, r.at = 0, 0
	for _, c := range r.conns {
		if c == nil || c.user() != r.heaviest {
			continue
		}
		r.most = max(r.most, c.weight())
		if idlest == nil || c.idler(idlest) {
			idlest = c
		}
	}
	return idlest
}

// weight is how much the connection's client causes to be kept, in bytes: not what the kernel would
// keep if replies were not read.
func (c *conn) weight() int {
	n := cap(c.in) + cap(c.backlog) + c.session.Held()
	if c.unsent() > 0 {
		n += c.kernel
	}
	return n
}

// evict ends a connection that takes too much. A client that is in the middle of a reply cannot be
// told.
func (r *room) evict(c *conn) {
	if len(c.backlog) == 0 {
		_, _ = writeNow(c.fd, resp.Refuse(resp.TooMuchMemory, c.account.Held()>>10).Append(nil))
	}
	r.end(c, Heavy)
}

// makeRoom ends a connection for the one that has come.
func (r *room) makeRoom(newcomer *conn) {
	switch newcomer.verdict {
	case budget.Relieve:
		r.endOne(Relieved, func(c client) bool { return c.user() == newcomer.from }, (*conn).idler)
	case budget.Recycle:
		r.endOne(Recycled, client.reserved, func(c, other *conn) bool { return c.id < other.id })
	}
}

// endOne ends one of the connections whom may names: of the loop's the one that comes before all
// others, or one that speaks HTTP.
func (r *room) endOne(why Reason, may func(client) bool, before func(c, other *conn) bool) {
	var leaves *conn
	for _, c := range r.conns {
		if c != nil && may(c.client) && (leaves == nil || before(c, leaves)) {
			leaves = c
		}
	}
	if leaves == nil {
		r.web.relieve(may, why)
		return
	}
	r.end(leaves, why)
}

// idler tells whether less is lost if c ends than if other does: one that has nothing under way,
// and of several the one that has asked for nothing for the longest time.
func (c *conn) idler(other *conn) bool {
	if c.busy() != other.busy() {
		return !c.busy()
	}
	return int32(c.epoch-other.epoch) < 0
}

// busy tells whether something is under way.
func (c *conn) busy() bool { return c.waits || c.more || c.sending > 0 || c.unsent() > 0 }

// endIdle ends the connections whose client has asked for nothing for too long. Each look begins a
// new epoch of batching, so that a connection's epoch tells whether it has asked since the last.
func (r *room) endIdle() {
	now := r.deadlines.clock.Now().Mono
	if now < r.deadlines.sweep {
		return
	}
	timeout := r.config.Limits.IdleTimeout
	every := sweepOf(timeout)
	r.deadlines.sweep = r.deadlines.after(every)
	for _, c := range r.conns {
		switch {
		case c == nil:
		case c.busy() || int32(c.epoch-r.swept) > 0:
			c.quiet = 0
		default:
			if c.quiet += every; c.quiet >= timeout {
				r.end(c, Idle)
			}
		}
	}
	r.swept = r.poller.batching.epoch
	r.poller.batching.epoch++
}

// end closes a connection for a reason of this side's.
func (l *loop) end(c *conn, why Reason) {
	l.counts.refused[why].Add(1)
	if why != Idle {
		l.config.Log.Warn("a client's connection is ended", "code", why, "user", c.who.User(), "pid", c.who.PID,
			"connection", c.id, "bytes", c.account.Held())
	}
	l.drop(c)
}
