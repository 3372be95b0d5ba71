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

func (l *loop) adopt(c *conn) {
	if err := unix.SetNonblock(c.fd, true); err != nil {
		l.reject(c, err)
		return
	}
	c.interest = unix.EPOLLIN
	if err := l.poller.watch(unix.EPOLL_CTL_ADD, c.fd, c.interest); err != nil {
		l.reject(c, err)
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

func (l *loop) reject(c *conn, err error) {
	l.config.Log.Warn("a connection is dropped", "connection", c.session.ID, "error", err)
	_ = unix.Close(c.fd)
	l.counts.ended.Add(1)
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
	if events&unix.EPOLLOUT != 0 && !l.push(c) {
		return
	}
	if events&unix.EPOLLIN != 0 {
		l.receive(c)
	}
}

// receive reads once: what is left in the kernel brings another event. A connection that cannot go
// on is not watched meanwhile.
func (l *loop) receive(c *conn) {
	if c.ended || c.waits || c.more || c.closing || l.backpressured(c) {
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

// serve answers what it can of the requests in data and keeps the rest. data is either c.in or the
// loop's read buffer.
func (l *loop) serve(c *conn, data []byte) {
	if cap(l.arena)-len(l.arena) < l.config.Limits.Output+largestExtra {
		if l.flush(); c.fd < 0 {
			return
		}
	}
	start := len(l.arena)
	used, replies, next := l.handler.Serve(&c.session, data, l.arena[start:start:cap(l.arena)])
	if n := len(replies); n > 0 {
		if &replies[0] == &l.arena[:start+1][start] {
			l.arena = l.arena[:start+n]
		} else { // a reply larger than foreseen
			l.arena = append(l.arena, replies...)
		}
		l.sends = append(l.sends, send{c, start, start + n})
		c.sending++
	}
	l.keep(c, data, used)
	c.more = next.State == resp.Write
	switch next.State {
	case resp.Wait:
		l.park(c, next, used > 0 || len(replies) > 0)
		return
	case resp.Write:
		l.queue(c)
	case resp.Close:
		c.closing = true
		c.in = nil
	}
	if c.waits {
		c.waits = false
		l.waiting.remove(c)
	}
	l.finish(c)
}

// keep stores what was not used of data.
func (l *loop) keep(c *conn, data []byte, used int) {
	rest := data[used:]
	switch {
	case len(rest) == 0 && cap(c.in) > keptBuffer:
		c.in = nil
	default:
		c.in = append(c.in[:0], rest...) // moves to the front if data is c.in
	}
}

// park has the connection wait for IDs. A connection that got something takes its place behind the
// others; one that did not, keeps it.
func (l *loop) park(c *conn, next resp.Next, progress bool) {
	if next.For <= 0 && !next.Event {
		next.For = vagueWait
	}
	c.event = next.Event
	c.due = never
	if next.For > 0 {
		c.due = l.after(next.For)
	}
	if c.waits && progress {
		l.waiting.remove(c)
	}
	if !c.waits || progress {
		l.waiting.append(c)
	}
	c.waits = true
	l.expect(c.due)
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
	if !l.backpressured(c) {
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

// flush writes the replies of this round. They are counted first, so that a client which has its
// reply finds it counted.
func (l *loop) flush() {
	tally := l.handler.Tally()
	l.counts.add(tally, l.reported)
	l.reported = tally
	for i := range l.sends {
		s := l.sends[i]
		l.sends[i].to = nil
		s.to.sending--
		if s.to.fd >= 0 && l.write(s.to, l.arena[s.from:s.up]) {
			l.finish(s.to)
		}
	}
	l.sends = l.sends[:0]
	l.arena = l.arena[:0]
}

// write sends replies, or keeps what the client does not take yet. It returns false if the
// connection is gone.
func (l *loop) write(c *conn, replies []byte) bool {
	if len(c.backlog) == 0 {
		n, errno := writeNow(c.fd, replies)
		if errno != 0 && errno != unix.EAGAIN && errno != unix.EINTR {
			l.drop(c)
			return false
		}
		if replies = replies[n:]; len(replies) == 0 {
			return true
		}
		c.deadline = l.after(l.config.Limits.WriteTimeout)
		l.blocked[c] = struct{}{}
		l.expect(c.deadline)
		l.setInterest(c, c.interest|unix.EPOLLOUT)
		if c.fd < 0 {
			return false
		}
	}
	c.backlog = append(c.backlog, replies...)
	l.backlogs += len(replies)
	return true
}

// push sends more of the backlog. It returns false if the connection is gone.
func (l *loop) push(c *conn) bool {
	n, errno := writeNow(c.fd, c.backlog[c.sent:])
	if errno == unix.EAGAIN || errno == unix.EINTR {
		return true
	}
	if errno != 0 {
		l.drop(c)
		return false
	}
	c.sent += n
	l.backlogs -= n
	if c.sent < len(c.backlog) {
		c.deadline = l.after(l.config.Limits.WriteTimeout)
		if c.sent > len(c.backlog)/2 { // the rest moves once at most for each byte sent
			c.backlog = append(c.backlog[:0], c.backlog[c.sent:]...)
			c.sent = 0
		}
	} else {
		l.unblock(c)
		l.setInterest(c, c.interest&^unix.EPOLLOUT)
	}
	if c.more && !l.backpressured(c) {
		l.queue(c)
	}
	l.finish(c)
	return c.fd >= 0
}

func (l *loop) unblock(c *conn) {
	l.backlogs -= len(c.backlog) - c.sent
	c.backlog, c.sent = c.backlog[:0], 0
	if cap(c.backlog) > keptBuffer {
		c.backlog = nil
	}
	delete(l.blocked, c)
}

// drop closes the connection whatever is left of it.
func (l *loop) drop(c *conn) {
	if c.fd < 0 {
		return
	}
	if c.waits {
		c.waits = false
		l.waiting.remove(c)
	}
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
