package serve

import (
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/resp"
)

// conn is one connection, owned by the loop.
type conn struct {
	fd       int // -1 once closed
	session  resp.Session
	epoch    uint32 // of batching
	interest uint32 // the events that epoll watches for
	in       []byte // received and not used yet
	backlog  []byte // replies that the client has not taken; those up to sent are gone
	sent     int
	sending  int  // parts of the arena that are for it
	quota    int  // bytes that are still read; noQuota: any number
	ended    bool // nothing more is read: the client has closed its side, or the quota is used up
	closing  bool // closed once all replies are sent
	more     bool // has requests that were put off until replies are sent
	queued   bool // in the loop's ready list
	waits    bool // a request waits for IDs
	event    bool // or for a change
	due      clockguard.Mono
	deadline clockguard.Mono // for a reply to be taken
	next     *conn           // in the waiting list
	previous *conn
}

const noQuota = -1

// unsent is how many bytes of replies wait for the client.
func (c *conn) unsent() int { return len(c.backlog) - c.sent }

// keep stores the bytes of data that were not used.
func (c *conn) keep(data []byte, used int) {
	rest := data[used:]
	if len(rest) == 0 && cap(c.in) > keptBuffer {
		c.in = nil
		return
	}
	c.in = append(c.in[:0], rest...) // moves to the front if data is c.in
}

// adopt begins to serve a connection.
func (l *loop) adopt(c *conn) {
	c.interest = unix.EPOLLIN
	err := unix.SetNonblock(c.fd, true)
	if err == nil {
		err = l.poller.watch(unix.EPOLL_CTL_ADD, c.fd, c.interest)
	}
	if err != nil {
		l.config.Log.Warn("a connection is dropped", "connection", c.session.ID, "error", err)
		_ = unix.Close(c.fd)
		l.counts.ended.Add(1)
		return
	}
	for len(l.conns) <= c.fd {
		l.conns = append(l.conns, nil)
	}
	l.conns[c.fd] = c
	l.connected++
	if l.draining {
		l.limitToReceived(c)
	}
}

// limitToReceived has the connection end once what has been received by now is answered.
func (l *loop) limitToReceived(c *conn) {
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
	if events&unix.EPOLLIN != 0 && c.fd >= 0 {
		l.receive(c)
	}
}

// receive reads once: what is left in the kernel brings another event. A connection that cannot go
// on is not watched meanwhile.
func (l *loop) receive(c *conn) {
	if c.ended || c.waits || c.more || c.closing || l.outbox.backpressured(c) {
		l.setInterest(c, c.interest&^unix.EPOLLIN)
		return
	}
	buf := l.in
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
	// A connection's first bytes tell its dialect; so far there is one. Another would take the
	// connection, and what was read, from here.
	if len(c.in) == 0 {
		l.serve(c, buf[:n])
		return
	}
	c.in = append(c.in, buf[:n]...)
	l.serve(c, c.in)
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
	l.outbox.add(c, replies)
	c.keep(data, used)
	c.more = next.State == resp.Write
	switch next.State {
	case resp.Wait:
		l.deadlines.wait(c, next, used > 0 || len(replies) > 0)
		return
	case resp.Write:
		l.queue(c)
	case resp.Close:
		c.closing = true
		c.in = nil
	}
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
	if err := l.poller.watch(unix.EPOLL_CTL_MOD, c.fd, events); err != nil {
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
	delete(l.deadlines.blocked, c)
}

// drop closes the connection whatever is left of it.
func (l *loop) drop(c *conn) {
	if c.fd < 0 {
		return
	}
	l.deadlines.endWait(c)
	l.unblock(c)
	c.more = false
	l.conns[c.fd] = nil
	l.connected--
	// The close alone takes it out of epoll only if this is the socket's last descriptor, and
	// whoever added the connection may still hold the one it came with. What epoll then told of
	// this client would be taken for the next connection with the same number.
	l.poller.remove(c.fd)
	_ = unix.Close(c.fd)
	c.fd = -1
	l.counts.ended.Add(1)
}
