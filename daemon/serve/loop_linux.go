package serve

import (
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/resp"
)

const (
	arenaSize = 256 << 10
	// largestExtra is room for the largest reply that is appended whole once there is room for
	// another.
	largestExtra = 16 << 10
)

// loop is the event loop over all connections. One goroutine runs it and owns all but the inbox.
// Each round reads what has arrived, gathers all replies in one arena and writes them at its end,
// so a client with many connections finds many replies at once.
type loop struct {
	config   Config
	counts   *counts
	handler  *resp.Handler
	reported resp.Tally // what counts has

	poller    *poller
	timer     *timer
	notifier  int     // file descriptor: written to when the inbox has something
	conns     []*conn // by file descriptor
	connected int     // how many conns there are
	in        []byte  // what one read brings
	arena     []byte  // replies of this round
	sends     []send  // who gets which part of the arena
	ready     []*conn
	scratch   []*conn
	waiting   list // connections whose request waits for IDs, longest first
	blocked   map[*conn]struct{}
	backlogs  int             // bytes, of all connections
	due       clockguard.Mono // what the timer is set to
	draining  bool

	inbox inbox
	ended sync.WaitGroup
}

type send struct {
	to       *conn
	from, up int
}

func startLoop(c Config, n *counts) (*loop, error) {
	l := &loop{
		config:   c,
		counts:   n,
		handler:  c.handler(),
		in:       make([]byte, readAtOnce),
		arena:    make([]byte, 0, max(arenaSize, 2*(c.Limits.Output+largestExtra))),
		blocked:  make(map[*conn]struct{}),
		due:      never,
		notifier: -1,
	}
	if err := l.open(); err != nil {
		l.close()
		return nil, err
	}
	l.ended.Add(1)
	loops.Add(1)
	go func() {
		defer l.ended.Done()
		defer loops.Add(-1)
		l.run()
	}()
	return l, nil
}

// open makes the loop's own files.
func (l *loop) open() (err error) {
	if l.poller, err = newPoller(); err != nil {
		return err
	}
	if l.notifier, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		return fmt.Errorf("eventfd: %w", err)
	}
	if l.timer, err = newTimer(l.config.Clock); err != nil {
		return err
	}
	if err = l.poller.watch(unix.EPOLL_CTL_ADD, l.notifier, unix.EPOLLIN); err != nil {
		return err
	}
	return l.poller.watch(unix.EPOLL_CTL_ADD, l.timer.fd, unix.EPOLLIN)
}

// close closes those that there are.
func (l *loop) close() {
	l.inbox.mu.Lock()
	defer l.inbox.mu.Unlock()
	if l.timer != nil {
		l.timer.close()
	}
	if l.notifier >= 0 {
		_ = unix.Close(l.notifier)
		l.notifier = -1
	}
	if l.poller != nil {
		l.poller.close()
	}
}

func (l *loop) add(nc net.Conn, id int64) error {
	defer nc.Close() //nolint:errcheck // the loop has its own descriptor
	fd, err := duplicate(nc)
	if err != nil {
		return err
	}
	c := &conn{fd: fd, quota: noQuota}
	c.session.ID = id
	l.inbox.mu.Lock()
	closed := l.inbox.closed
	if !closed {
		l.inbox.fresh = append(l.inbox.fresh, c)
	}
	l.inbox.mu.Unlock()
	if closed {
		_ = unix.Close(fd)
		return net.ErrClosed
	}
	l.notify()
	return nil
}

// duplicate takes a connection's socket away from Go's network poller, which would otherwise be
// woken for every request as well.
func duplicate(nc net.Conn) (int, error) {
	sc, ok := nc.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("a %T has no file descriptor", nc)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, err
	}
	fd := -1
	if e := raw.Control(func(own uintptr) { fd, err = unix.FcntlInt(own, unix.F_DUPFD_CLOEXEC, 0) }); e != nil {
		return -1, e
	}
	if err != nil {
		return -1, fmt.Errorf("dup: %w", err)
	}
	return fd, nil
}

func (l *loop) wait() {
	l.ended.Wait()
	l.close()
}

func (l *loop) run() {
	for {
		events := l.poller.wait(len(l.ready) > 0, l.waiting.first != nil)
		if l.waiting.first != nil && len(events) > 0 {
			l.retry(false) // those who have waited come before those who ask now
		}
		notified := l.inbox.notified.Load()
		for i := range events {
			ev := &events[i]
			switch int(ev.Fd) {
			case l.notifier:
				notified = true
				continue
			case l.timer.fd:
				l.expire()
				continue
			}
			if c := l.conns[ev.Fd]; c != nil {
				l.poller.batching.saw(&c.epoch)
				l.handle(c, ev.Events)
			}
		}
		if notified && l.attend() {
			return
		}
		l.resume()
		l.flush()
		if l.draining && l.connected == 0 {
			l.shut()
			return
		}
	}
}

// resume gives each connection that has more to answer another turn.
func (l *loop) resume() {
	ready := l.ready
	l.ready = l.scratch[:0]
	for i, c := range ready {
		ready[i] = nil
		c.queued = false
		if c.fd >= 0 && c.more && !l.backpressured(c) {
			l.serve(c, c.in)
		}
	}
	l.scratch = ready[:0]
}

// backpressured tells whether the client has to take replies before its next request is answered.
func (l *loop) backpressured(c *conn) bool {
	limit := l.config.Limits.Backlog
	if l.backlogs > l.config.Limits.Backlogs {
		limit = l.config.Limits.Output
	}
	return len(c.backlog)-c.sent >= limit
}
