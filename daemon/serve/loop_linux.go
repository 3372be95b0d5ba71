package serve

import (
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/resp"
)

// loop is the event loop over all connections. One goroutine runs it and owns all but the inbox.
// Each round reads what has arrived, gathers all replies in the outbox and writes them at its end,
// so a client with many connections finds many replies at once.
type loop struct {
	inbox     // implements engine, except for wait
	poller    *poller
	deadlines deadlines
	outbox    outbox

	config    Config
	counts    *counts
	handler   *resp.Handler
	reported  resp.Tally // what counts has
	conns     []*conn    // by file descriptor
	connected int        // how many conns there are
	in        []byte     // what one read brings
	ready     []*conn    // those that have more to answer
	scratch   []*conn
	draining  bool
	ended     sync.WaitGroup
}

func startLoop(c Config, n *counts) (*loop, error) {
	l := &loop{
		deadlines: deadlines{clock: c.Clock, blocked: make(map[*conn]struct{})},
		outbox:    newOutbox(c.Limits),
		config:    c,
		counts:    n,
		handler:   c.handler(),
		in:        make([]byte, readAtOnce),
	}
	l.notifier = -1
	if err := l.open(); err != nil {
		l.close()
		return nil, err
	}
	loops.Add(1)
	l.ended.Go(func() {
		defer loops.Add(-1)
		l.run()
	})
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
	if l.deadlines.timer, err = newTimer(l.config.Clock); err != nil {
		return err
	}
	if err = l.poller.watch(unix.EPOLL_CTL_ADD, l.notifier, unix.EPOLLIN); err != nil {
		return err
	}
	return l.poller.watch(unix.EPOLL_CTL_ADD, l.deadlines.timer.fd, unix.EPOLLIN)
}

// close closes those that there are.
func (l *loop) close() {
	if l.deadlines.timer != nil {
		l.deadlines.timer.close()
	}
	if l.notifier >= 0 {
		_ = unix.Close(l.notifier)
	}
	if l.poller != nil {
		l.poller.close()
	}
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
		pending := l.deadlines.waiting.first != nil
		events := l.poller.wait(len(l.ready) > 0, pending)
		if pending && len(events) > 0 {
			l.retry(false) // those who have waited come before those who ask now
		}
		notified := l.notified.Load()
		for i := range events {
			ev := &events[i]
			switch int(ev.Fd) {
			case l.notifier:
				notified = true
				continue
			case l.deadlines.timer.fd:
				// The waiting requests have been tried. If that has set the timer again, it has not
				// fired.
				if l.deadlines.timer.fired() {
					l.cutOff()
				}
				continue
			}
			if c := l.conns[ev.Fd]; c != nil {
				l.poller.batching.saw(&c.epoch)
				l.handle(c, ev.Events)
			}
		}
		stop := notified && l.attend()
		if !stop {
			l.resume()
			l.flush()
		}
		if stop || l.draining && l.connected == 0 {
			l.shut()
			return
		}
	}
}

// attend does what other goroutines asked for, except for a stop, of which it returns true.
func (l *loop) attend() bool {
	l.poller.keepsP = severalPs() // Go changes it with the limits of a container
	asked := l.take(false)
	if len(asked.disconnects) > 0 {
		l.dropAll(asked.disconnects)
	}
	for _, c := range asked.fresh {
		l.adopt(c)
	}
	if asked.stop {
		return true
	}
	if asked.drain && !l.draining {
		l.draining = true
		for _, c := range l.conns {
			if c != nil {
				l.limitToReceived(c)
			}
		}
	}
	l.retry(asked.changed)
	l.cutOff()
	return false
}

// retry goes on with the requests that are due, or, after a change, with those that wait for one
// too.
func (l *loop) retry(changed bool) {
	due := l.deadlines.retries(changed, l.scratch[:0])
	if len(due) == 0 {
		return
	}
	for _, c := range due {
		if c.waits {
			l.serve(c, c.in)
		}
	}
	clear(due)
	l.scratch = due[:0]
	l.deadlines.setTimer()
}

// cutOff ends the connections whose client has taken no reply for too long, and sets the timer to
// the deadlines that are left.
func (l *loop) cutOff() {
	for _, c := range l.deadlines.late() {
		l.config.Log.Warn("a client takes no replies; its connection ends",
			"connection", c.session.ID, "bytes", c.unsent(), "after", l.config.Limits.WriteTimeout)
		l.drop(c)
	}
	l.deadlines.setTimer()
}

// resume gives each connection that has more to answer another turn.
func (l *loop) resume() {
	ready := l.ready
	l.ready = l.scratch[:0]
	for i, c := range ready {
		ready[i] = nil
		c.queued = false
		if c.fd >= 0 && c.more && !l.outbox.backpressured(c) {
			l.serve(c, c.in)
		}
	}
	l.scratch = ready[:0]
}

// flush writes the replies of this round. They are counted first, so that a client which has its
// reply finds it counted.
func (l *loop) flush() {
	tally := l.handler.Tally()
	l.counts.add(tally, l.reported)
	l.reported = tally
	for _, s := range l.outbox.sends {
		s.to.sending--
		if s.to.fd >= 0 {
			l.send(s.to, l.outbox.arena[s.from:s.up])
		}
	}
	l.outbox.clear()
}

// shut closes everything, the connections that were not adopted too.
func (l *loop) shut() {
	asked := l.take(true)
	for _, c := range asked.fresh {
		l.adopt(c)
	}
	l.dropAll(asked.disconnects)
}

// dropAll closes the connections that were adopted, and tells those who wait for that.
func (l *loop) dropAll(disconnects []chan struct{}) {
	for _, c := range l.conns {
		if c != nil {
			l.drop(c)
		}
	}
	for _, done := range disconnects {
		close(done)
	}
}
