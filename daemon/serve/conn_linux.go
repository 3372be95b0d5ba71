package serve

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/resp"
)

// conn is one connection, owned by the loop.
type conn struct {
	client
	fd       int // -1 once closed
	epoll    int // in which it is watched
	dialect  dialect
	session  resp.Session
	epoch    uint32 // of batching
	interest uint32 // the events that epoll watches for
	in       []byte // received and not used yet
	backlog  []byte // replies that the client has not taken; those up to sent are gone
	sent     int
	kernel   int // bytes that the kernel may keep of replies that the client does not take
	account  budget.Account
	quiet    time.Duration // without a request
	sending  int           // parts of the arena that are for it
	quota    int           // bytes that are still read; noQuota: any number
	ended    bool          // nothing more is read: the client has closed its side, or the quota is used up
	closing  bool          // closed once all replies are sent
	more     bool          // has requests that were put off until replies are sent
	queued   bool          // in the loop's ready list
	long     bool          // its last turn was long
	waits    bool          // a request waits for IDs
	event    bool          // or for a change
	inTurn   bool          // or until its source names it
	again    timeout       // when the request is tried again
	reply    timeout       // by when a reply must be taken
	taken    *Connection   // of another process, until it is adopted
	load     *load         // of its user
}

const noQuota = -1

// newConn makes one that is not adopted yet.
func newConn(fd int, g client) *conn {
	c := &conn{fd: fd, quota: noQuota, client: g}
	c.again.conn, c.reply.conn = c, c
	c.session.ID, c.session.Peer = g.id, g.who
	c.session.SetOwner(c)
	return c
}

// unsent is how many bytes of replies wait for the client.
func (c *conn) unsent() int { return len(c.backlog) - c.sent }

// keep stores the bytes of data that were not used.
func (c *conn) keep(data []byte, used int) {
	if used == 0 && len(c.in) == len(data) { // data is c.in, as otherwise that is empty
		return
	}
	rest := data[used:]
	if len(rest) == 0 && cap(c.in) > keptBuffer {
		c.forget()
		return
	}
	c.in = budget.Append(c.in[:0], rest) // moves to the front if data is c.in
}

// forget gives back what was received.
func (c *conn) forget() {
	budget.GiveBack(c.in)
	c.in = nil
}

// adopt begins to serve a connection.
func (l *loop) adopt(c *conn) {
	c.interest = unix.EPOLLIN
	c.load = l.turns.come(c.user(), l.poller)
	c.epoll = c.load.epollOf(l.poller)
	err := unix.SetNonblock(c.fd, true)
	if err == nil {
		err = watch(c.epoll, unix.EPOLL_CTL_ADD, c.fd, c.interest)
	}
	if err != nil {
		l.turns.leave(c.user())
		l.config.Log.Warn("a connection is dropped", "connection", c.session.ID, "error", err)
		_ = unix.Close(c.fd)
		l.counts.end(c.user())
		return
	}
	c.kernel = l.room.sendBuffer(c.fd)
	c.account = l.config.Budget.Open(c.user())
	c.epoch = l.poller.batching.epoch // it has not been idle
	l.room.makeRoom(c)
	for len(l.conns) <= c.fd {
		l.conns = append(l.conns, nil)
	}
	l.conns[c.fd] = c
	l.connected++
	l.room.update(c)
	if l.draining {
		l.limitToReceived(c)
	}
	if c.taken != nil {
		c.goOn(l, c.taken)
	}
}

// limitToReceived has the connection end once what has been received by now is answered.
func (l *loop) limitToReceived(c *conn) {
	if c.dialect == untold && l.config.HTTP != nil {
		// To a server of HTTP, the end below is that of its client. So who speaks it leaves before.
		if l.receive(c); c.fd < 0 {
			return
		}
	}
	// From here on the client cannot write, so nothing arrives unseen between the look and the
	// close: its request would be lost, and it could not tell that from one that was answered into
	// a broken connection.
	_ = unix.Shutdown(c.fd, unix.SHUT_RD)
	n, err := unix.IoctlGetInt(c.fd, unix.SIOCINQ)
	if err != nil || n <= 0 {
		c.ended = true
		l.finish(c)
		return
	}
	c.quota = n
}

// handle does what an event asks for.
func (l *loop) handle(c *conn, events uint32) {
	if events&(unix.EPOLLHUP|unix.EPOLLERR) != 0 { // the client is gone, or neither side can send: nobody is left to answer
		l.drop(c)
		return
	}
	if events&unix.EPOLLOUT != 0 {
		l.push(c)
	}
	if events&unix.EPOLLIN != 0 && c.fd >= 0 && !(c.long && l.turns.short) { // it comes again
		l.receive(c)
	}
}

// readBehind is how many bytes are read behind a request that waits.
const readBehind = 4 << 10

// receive reads once: what is left in the kernel brings another event. A connection that cannot go
// on is not watched meanwhile. Behind a request that waits in turn some is read, so that what comes
// next has waited since it came.
func (l *loop) receive(c *conn) {
	behind := c.waits && c.inTurn && len(c.in) < readBehind
	if c.ended || c.waits && !behind || c.more || c.closing || l.outbox.backpressured(c) {
		l.setInterest(c, c.interest&^unix.EPOLLIN)
		return
	}
	buf := l.in[:l.turns.most(len(l.in))]
	if behind {
		buf = buf[:min(len(buf), readBehind-len(c.in))]
	}
	if c.quota != noQuota {
		buf = buf[:min(len(buf), c.quota)]
	}
	n, errno := readNow(c.fd, buf)
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return
	case errno != 0:
		l.drop(c)
		return
	case n == 0:
		c.ended = true
		l.setInterest(c, c.interest&^unix.EPOLLIN)
		l.finish(c)
		return
	}
	if c.quota != noQuota {
		c.quota -= n
		c.ended = c.quota == 0
	}
	data := buf[:n]
	if behind {
		c.in = budget.Append(c.in, data)
		c.session.Arrived(l.deadlines.source)
		l.room.update(c)
		return
	}
	if len(c.in) > 0 {
		c.in = budget.Append(c.in, data)
		data = c.in
	}
	if c.dialect == untold && l.config.HTTP != nil {
		// RESP does not answer a line whose end is missing, either: it waits for more in the same
		// way, and within the same bounds.
		if c.dialect = dialectOf(data); c.dialect == speaksHTTP {
			c.give(l, data)
			return
		}
	}
	l.serve(c, data)
}

// give takes the connection out of the loop. The HTTP server answers it, with what was read of it.
func (c *conn) give(l *loop, read []byte) {
	l.conns[c.fd] = nil
	l.connected--
	_ = unix.EpollCtl(c.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
	l.turns.leave(c.user())
	l.web.come(c.fd, c.client, c.account, read)
	c.fd = -1
	c.forget()
}

// serve answers what it can of the requests in data and keeps the rest. Data is either c.in or the
// loop's read buffer.
func (l *loop) serve(c *conn, data []byte) {
	if l.outbox.full() {
		if l.flush(); c.fd < 0 {
			return
		}
	}
	used, replies, next := l.handler.Serve(&c.session, data, l.outbox.room())
	if c.long = max(len(data), len(replies)) >= longTurn; c.long {
		l.turns.took(l.handler)
	}
	l.outbox.add(c, replies)
	c.keep(data, used)
	c.more = next.State == resp.Write
	switch next.State {
	case resp.Wait:
		l.room.update(c)
		l.deadlines.wait(c, next, used > 0 || len(replies) > 0)
		return
	case resp.Write:
		l.queue(c)
	case resp.Close:
		c.closing = true
		c.forget()
	}
	l.room.update(c)
	l.deadlines.endWait(c)
	l.finish(c)
}

func (l *loop) queue(c *conn) {
	if !c.queued {
		c.queued = true
		l.ready = append(l.ready, c)
	}
}

// finish closes the connection if all is done, or has it watched for what it can do next.
func (l *loop) finish(c *conn) {
	if c.fd < 0 || c.sending > 0 || c.waits || c.more {
		return
	}
	if c.ended {
		c.closing = true
	}
	if c.closing {
		if len(c.backlog) == 0 {
			l.drop(c)
		}
		return
	}
	if !l.outbox.backpressured(c) {
		l.setInterest(c, c.interest|unix.EPOLLIN)
	}
}

// setInterest changes the events that are watched for.
func (l *loop) setInterest(c *conn, events uint32) {
	if c.interest == events {
		return
	}
	c.interest = events
	if err := watch(c.epoll, unix.EPOLL_CTL_MOD, c.fd, events); err != nil {
		l.drop(c)
	}
}

// send writes replies, or has the connection watched for when its client takes more.
func (l *loop) send(c *conn, replies []byte) {
	free := len(c.backlog) == 0
	if l.outbox.write(c, replies) != 0 {
		l.drop(c)
		return
	}
	if c.unsent() > 0 {
		l.room.update(c)
	}
	if free && c.unsent() > 0 {
		l.deadlines.block(c, l.config.Limits.WriteTimeout)
		l.setInterest(c, c.interest|unix.EPOLLOUT)
	}
	l.finish(c)
}

// push sends more of the backlog.
func (l *loop) push(c *conn) {
	n, errno := l.outbox.push(c)
	switch {
	case errno != 0:
		l.drop(c)
		return
	case c.unsent() == 0:
		l.unblock(c)
		l.room.update(c)
		l.setInterest(c, c.interest&^unix.EPOLLOUT)
	case n == 0:
		return
	default:
		l.deadlines.block(c, l.config.Limits.WriteTimeout)
	}
	if c.more && !l.outbox.backpressured(c) {
		l.queue(c)
	}
	l.finish(c)
}

// unblock forgets the backlog.
func (l *loop) unblock(c *conn) {
	l.outbox.discard(c)
	l.deadlines.unblock(c)
}

// drop closes the connection whatever is left of it.
func (l *loop) drop(c *conn) {
	if c.fd < 0 {
		return
	}
	l.turns.took(l.handler) // what was not read takes the kernel as long as to read it
	l.deadlines.endWait(c)
	l.handler.Abandon(&c.session)
	l.unblock(c)
	c.account.Hold(0)
	c.more = false
	l.conns[c.fd] = nil
	l.connected--
	// The close alone takes it out of epoll only if this is the socket's last descriptor, and
	// whoever added the connection may still hold the one it came with. What epoll then told of
	// this client would be taken for the next connection with the same number.
	_ = unix.EpollCtl(c.epoll, unix.EPOLL_CTL_DEL, c.fd, nil)
	_ = unix.Close(c.fd)
	l.turns.leave(c.user())
	c.fd = -1
	c.forget() // whoever still knows the connection does not keep its buffers
	budget.GiveBack(c.backlog)
	c.backlog = nil
	l.counts.end(c.user())
}
