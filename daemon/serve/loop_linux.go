package serve

import (
	"fmt"
	"net"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/daemon/budget"
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
	web       *web
	handler   *resp.Handler
	conns     []*conn // by file descriptor
	fresh     []*conn // that are not adopted yet
	connected int     // how many conns there are
	in        []byte  // what one read brings
	ready     []*conn // those that have more to answer
	scratch   []*conn
	round     round
	behind    bool // requests are due that the last round had no time for
	draining  bool
	turns     turns
	room      room
	ended     sync.WaitGroup
}

func startLoop(c Config, a *web) (*loop, error) {
	l, err := newLoop(c, a)
	if err != nil {
		return nil, err
	}
	loops.Add(1)
	l.ended.Go(func() {
		defer loops.Add(-1)
		l.run()
	})
	return l, nil
}

// newLoop makes one that does not run yet.
func newLoop(c Config, a *web) (*loop, error) {
	n := a.counts
	l := &loop{
		deadlines: deadlines{clock: c.Clock, count: &n.waiting},
		outbox:    newOutbox(c),
		config:    c,
		counts:    n,
		web:       a,
		in:        make([]byte, readAtOnce),
		turns:     turns{clock: c.Clock, users: make(map[budget.User]*load)},
	}
	l.deadlines.source, _ = c.Source.(dealer)
	l.room.loop, l.round.loop = l, l
	l.handler = c.handler()
	l.notifier = -1
	l.deadlines.sweep, l.deadlines.feed = never, never
	if c.FeedEvery > 0 {
		l.deadlines.feed = l.deadlines.after(c.FeedEvery)
	}
	if c.Limits.IdleTimeout > 0 {
		l.deadlines.sweep = l.deadlines.after(sweepOf(c.Limits.IdleTimeout))
	}
	if err := l.open(); err != nil {
		l.close()
		return nil, err
	}
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
	l.deadlines.setTimer()
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
		pending := len(l.deadlines.waiting) > 0
		more := len(l.ready) > 0 || len(l.fresh) > 0 || l.behind || l.room.over
		events := l.poller.wait(more, pending)
		l.turns.since = 0
		if pending && (len(events) > 0 || l.behind) {
			l.retry(false) // those who have waited come before those who ask now
		}
		notified := l.round.answer(events)
		stop := (notified || len(l.fresh) > 0) && l.attend()
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
	for _, done := range asked.alive {
		close(done)
	}
	if len(asked.disconnects) > 0 {
		l.dropAll(asked.disconnects)
	}
	l.room.over = asked.over || l.room.over
	l.fresh = append(l.fresh, asked.fresh...)
	if asked.stop || asked.freeze != nil && asked.freeze.hold(l) {
		return true
	}
	l.room.adoptAll(asked.drain || l.draining)
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
// too: with as many as a round has time for.
func (l *loop) retry(changed bool) {
	now := l.deadlines.clock.Now().Mono
	if !changed && !l.behind && now < l.deadlines.timer.due {
		return
	}
	l.turns.start()
	l.behind = l.deadlines.due(now, changed)
	for n := 0; l.behind; n++ {
		c := l.deadlines.waiting[0].conn
		l.serve(c, c.in)
		l.behind = l.deadlines.waiting.earliest() <= now
		if l.turns.over(n) {
			break
		}
	}
	l.deadlines.setTimer()
}

// cutOff ends the connections whose client has taken no reply for too long, does what is due
// besides, and sets the timer to the deadlines that are left.
func (l *loop) cutOff() {
	now := l.deadlines.clock.Now().Mono
	for c := l.deadlines.late(now); c != nil; c = l.deadlines.late(now) {
		l.end(c, NotReading)
	}
	l.room.endIdle()
	l.feed()
	l.deadlines.setTimer()
}

// feed feeds the watchdog when that is due.
func (l *loop) feed() {
	if l.deadlines.clock.Now().Mono >= l.deadlines.feed {
		l.config.Feed()
		l.deadlines.feed = l.deadlines.after(l.config.FeedEvery)
	}
}

// resume gives each connection that has more to answer another turn.
func (l *loop) resume() {
	if len(l.ready) == 0 {
		return
	}
	ready := l.ready
	l.ready = l.scratch[:0]
	l.turns.start()
	for i, c := range ready {
		if i > 0 && (l.turns.short || l.turns.over(i)) {
			l.ready = append(l.ready, ready[i:]...) // the next round begins with them
			clear(ready[i:])
			break
		}
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
	timed := resp.Publish(l.handler)
	for _, s := range l.outbox.sends {
		s.to.sending--
		if s.to.fd >= 0 {
			l.send(s.to, s.replies)
		}
	}
	l.outbox.clear()
	if timed {
		resp.Observe(l.handler, l.deadlines.clock.Now().Mono)
	}
	l.room.shed()
}

// shut closes everything, the connections that were not adopted too.
func (l *loop) shut() {
	asked := l.take(true)
	if asked.freeze != nil {
		close(asked.freeze.found)
	}
	for _, done := range asked.alive {
		close(done)
	}
	l.fresh = append(l.fresh, asked.fresh...)
	l.room.adoptAll(true)
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
