package serve

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/resp"
)

const (
	eventsAtOnce = 256
	arenaSize    = 256 << 10
	// largestExtra is room for the largest reply that is appended whole once there is room for another.
	largestExtra = 16 << 10
	// longestKept is for how long at a time the loop waits without telling Go's scheduler, which takes the P away otherwise. For a
	// loop that waits thousands of times a second the scheduler does so again and again, with a thread that looks for it every 20 µs and
	// another that is woken to take over the P: a seventh of the processor time. A collection of garbage that has to stop the loop
	// meanwhile sends it a signal, which ends the wait.
	longestKept = 2 * time.Millisecond
	// keptAgain is how many waits are the scheduler's after one that was longer than that: where waits are long, the P is others'.
	keptAgain = 64
)

// loops is how many there are in this process. With several, as where many daemons are tested in one, none keeps a P: together they
// would keep them all.
var loops atomic.Int32

// loop is the event loop over all connections. One goroutine runs it and owns all but the inbox. Each round reads what has arrived,
// gathers all replies in one arena and writes them at its end, so a client with many connections finds many replies at once.
type loop struct {
	config  Config
	counts  *counts
	handler *resp.Handler
	told    resp.Tally // what counts has been told

	epoll, event int // file descriptors
	events       [eventsAtOnce]unix.EpollEvent
	conns        []*conn // by file descriptor
	open         int
	in           []byte // what one read brings
	arena        []byte // replies of this round
	sends        []send // who gets which part of the arena
	ready        []*conn
	scratch      []*conn
	waiting      list // connections whose request waits for IDs, longest first
	blocked      map[*conn]struct{}
	backlogs     int // bytes, of all connections
	due          clockguard.Mono
	alarm        bell
	timer        *timer // the alarm, if it is one of the loop's files; else nil
	draining     bool
	naps         naps
	keepsP       bool // while it waits
	longWaits    int  // how many of the next waits are the scheduler's

	inbox inbox
	ended sync.WaitGroup
}

type send struct {
	to       *conn
	from, up int
}

func startLoop(c Config, n *counts) (*loop, error) {
	l := &loop{
		config:  c,
		counts:  n,
		handler: c.handler(),
		in:      make([]byte, readAtOnce),
		arena:   make([]byte, 0, max(arenaSize, 2*(c.Limits.Output+largestExtra))),
		blocked: make(map[*conn]struct{}),
		due:     never,
		keepsP:  severalPs(),
	}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, fmt.Errorf("epoll_create: %w", err)
	}
	if l.event, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err != nil {
		_ = unix.Close(l.epoll)
		return nil, fmt.Errorf("eventfd: %w", err)
	}
	if err = l.watch(unix.EPOLL_CTL_ADD, l.event, unix.EPOLLIN); err != nil {
		l.closeOwn()
		return nil, err
	}
	if err = l.makeAlarm(); err != nil {
		l.closeOwn()
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

// makeAlarm chooses the kernel's timer where the clock is the machine's, and a goroutine that asks the clock where it is another.
func (l *loop) makeAlarm() error {
	if _, ok := l.config.Clock.(clockguard.System); !ok {
		l.alarm = newAlarm(l.config.Clock, l.poke)
		return nil
	}
	t, err := newTimer(l.config.Clock)
	if err != nil {
		return err
	}
	if err := l.watch(unix.EPOLL_CTL_ADD, t.fd, unix.EPOLLIN); err != nil {
		t.close()
		return err
	}
	l.alarm, l.timer = t, t
	return nil
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
	l.poke()
	return nil
}

// duplicate takes a connection's socket away from Go's network poller, which would otherwise be woken for every request as well.
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
	l.alarm.close()
	l.closeOwn()
}

func (l *loop) closeOwn() {
	l.inbox.mu.Lock()
	defer l.inbox.mu.Unlock()
	_ = unix.Close(l.event)
	_ = unix.Close(l.epoll)
	l.event = -1
}

func (l *loop) run() {
	for {
		n := l.await()
		if l.waiting.first != nil && n > 0 {
			l.retry(false) // those who have waited come before those who ask now
		}
		called := l.inbox.poked.Load()
		for i := range n {
			ev := &l.events[i]
			switch {
			case int(ev.Fd) == l.event:
				called = true
				continue
			case l.timer != nil && int(ev.Fd) == l.timer.fd:
				l.rung()
				continue
			}
			if c := l.conns[ev.Fd]; c != nil {
				l.naps.saw(&c.epoch)
				l.handle(c, ev.Events)
			}
		}
		if called && l.attend() {
			return
		}
		l.goOn()
		l.flush()
		if l.draining && l.open == 0 {
			l.shut()
			return
		}
	}
}

// await waits for events, and returns how many there are; none after a signal.
func (l *loop) await() int {
	l.naps.round()
	if len(l.ready) > 0 {
		return pollNow(l.epoll, l.events[:], 0)
	}
	if l.waiting.first == nil && l.naps.due() {
		n := pollNow(l.epoll, l.events[:], 0)
		if n == 0 {
			nap()
			n = pollNow(l.epoll, l.events[:], 0)
			l.naps.rested(n)
		}
		if n > 0 {
			return n
		}
	}
	switch {
	case !l.keepsP || loops.Load() > 1:
	case l.longWaits > 0:
		l.longWaits--
	default:
		if n := pollNow(l.epoll, l.events[:], longestKept); n > 0 {
			return n
		}
		l.longWaits = keptAgain
	}
	n, err := unix.EpollWait(l.epoll, l.events[:], -1)
	if err != nil {
		return 0
	}
	return n
}

// severalPs tells whether other goroutines can run while the loop keeps its P.
func severalPs() bool { return runtime.GOMAXPROCS(0) > 1 }

// rung does what is due, but for the waiting requests, which have been tried by now. If that has set the timer again, there is nothing to do.
func (l *loop) rung() {
	if l.timer.rung() {
		l.cutOff()
		l.setAlarm()
	}
}

// retry goes on with the requests whose wait is over, or, after a change, with all that wait for one, the longest waiting first.
func (l *loop) retry(changed bool) {
	if l.waiting.first == nil {
		return
	}
	now := l.config.Clock.Now().Mono
	if !changed && now < l.due {
		return
	}
	due := l.scratch[:0]
	for c := l.waiting.first; c != nil; c = c.next {
		if c.due <= now || changed && c.event {
			due = append(due, c)
		}
	}
	for _, c := range due {
		if c.waits {
			l.serve(c, c.in)
		}
	}
	clear(due)
	l.scratch = due[:0]
	l.setAlarm()
}

// cutOff ends the connections whose client has taken no reply for too long.
func (l *loop) cutOff() {
	if len(l.blocked) == 0 {
		return
	}
	now := l.config.Clock.Now().Mono
	for c := range l.blocked {
		if c.deadline <= now {
			l.config.Log.Warn("a client takes no replies; its connection ends",
				"connection", c.session.ID, "bytes", len(c.backlog)-c.sent, "after", l.config.Limits.WriteTimeout)
			l.drop(c)
		}
	}
}

// setAlarm has the loop woken when the next wait or deadline is over.
func (l *loop) setAlarm() {
	var due clockguard.Mono = never
	for c := l.waiting.first; c != nil; c = c.next {
		due = min(due, c.due)
	}
	for c := range l.blocked {
		due = min(due, c.deadline)
	}
	l.due = due
	l.alarm.set(due)
}

// expect has the loop woken at due, or earlier.
func (l *loop) expect(due clockguard.Mono) {
	if due < l.due {
		l.due = due
		l.alarm.set(due)
	}
}

// goOn gives each connection that has more to answer another turn.
func (l *loop) goOn() {
	ready := l.ready
	l.ready = l.scratch[:0]
	for i, c := range ready {
		ready[i] = nil
		c.queued = false
		if c.fd >= 0 && c.more && !l.clogged(c) {
			l.serve(c, c.in)
		}
	}
	l.scratch = ready[:0]
}

// clogged tells whether the client has to take replies before its next request is answered.
func (l *loop) clogged(c *conn) bool {
	limit := l.config.Limits.Backlog
	if l.backlogs > l.config.Limits.Backlogs {
		limit = l.config.Limits.Output
	}
	return len(c.backlog)-c.sent >= limit
}

func (l *loop) after(d time.Duration) clockguard.Mono {
	return l.config.Clock.Now().Mono + clockguard.Mono(d)
}
