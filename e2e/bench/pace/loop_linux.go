package pace

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/HdrHistogram/hdrhistogram-go"
	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/wire"
)

const (
	// lead is how long before its first request's time a schedule begins.
	lead = int64(2 * time.Millisecond)
	// longestSleep bounds one sleep, so that the end of the context is seen.
	longestSleep = int64(10 * time.Millisecond)
	// mostUnanswered bounds the memory: a server that is this far behind is not measured, it is
	// drowned.
	mostUnanswered = 1 << 21
	// bufferBytes is what one read takes.
	bufferBytes = 64 << 10
)

// connection is one connection of the load.
type connection struct {
	fd      int
	due     due
	replies replies
	unsent  []byte // what the socket had no room for
	awaits  bool   // room is waited for
}

// generator is a load under way. Everything happens in one goroutine; it makes its system calls
// without telling the scheduler, as they either do not block or wait for a short time on purpose.
type generator struct {
	load        Load
	request     []byte
	schedule    *schedule
	connections []connection
	epoll       int
	events      [128]unix.EpollEvent
	buffer      []byte
	base        time.Time
	from, to    int64 // Length, in nanoseconds since base
	unanswered  int   // all requests, those of Warm included

	result        Result
	latency, late *hdrhistogram.Histogram
}

// Run puts the load on the server and returns when all is answered, or ctx ends, which is an error.
// It is meant for a process of its own: it turns the garbage collector off meanwhile, and may use a
// whole core.
func Run(ctx context.Context, l Load) (Result, error) {
	if err := l.Check(); err != nil {
		return Result{}, err
	}
	g := &generator{
		load: l, request: wire.AppendCommand(nil, l.Request...), schedule: newSchedule(l.Rate, l.Connections, l.Seed),
		buffer: make([]byte, bufferBytes), latency: newHistogram(), late: newHistogram(),
	}
	defer g.close()
	if err := g.connect(); err != nil {
		return Result{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var over atomic.Bool
	defer context.AfterFunc(ctx, func() { over.Store(true) })()
	if err := g.run(&over); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return Result{}, err
	}
	return g.sum(), nil
}

func (g *generator) close() {
	for _, c := range g.connections {
		_ = unix.Close(c.fd) // nothing is lost
	}
	if g.epoll > 0 {
		_ = unix.Close(g.epoll)
	}
}

func (g *generator) connect() error {
	var err error
	if g.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	for i := range g.load.Connections {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		g.connections = append(g.connections, connection{fd: fd})
		// Before it is made non-blocking: a full queue of connections is waited for.
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: g.load.Socket}); err != nil {
			return fmt.Errorf("connection %d to %s: %w", i+1, g.load.Socket, err)
		}
		if err := unix.SetNonblock(fd, true); err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		if err := unix.EpollCtl(g.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)}); err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
	}
	return nil
}

// clock is the time in nanoseconds since the base, monotonic.
func (g *generator) clock() int64 { return int64(time.Since(g.base)) }

var errStopped = errors.New("stopped")

// run sends what the schedule says and reads what comes, until all is answered or over is set.
func (g *generator) run(over *atomic.Bool) error {
	g.base = time.Now()
	g.from = lead + int64(g.load.Warm)
	g.to = g.from + int64(g.load.Length)
	at, on := g.next()
	for now := g.clock(); ; {
		for at <= now && at < g.to {
			if err := g.send(&g.connections[on], at, now); err != nil {
				return err
			}
			at, on = g.next()
			now = g.clock()
		}
		if at >= g.to && (g.unanswered == 0 || now > g.to+int64(Timeout)) {
			break
		}
		if over.Load() {
			return errStopped
		}
		until := at
		if at >= g.to {
			until = now + longestSleep
		}
		n, err := g.wait(until - now - int64(g.load.Spin))
		if err != nil {
			return err
		}
		now = g.clock()
		for _, e := range g.events[:n] {
			if now, err = g.serve(&g.connections[e.Fd], e.Events); err != nil {
				return err
			}
			if at <= now && at < g.to { // what is due does not wait for what has come
				if err := g.send(&g.connections[on], at, now); err != nil {
					return err
				}
				at, on = g.next()
				now = g.clock()
			}
		}
	}
	g.giveUp(g.clock())
	return nil
}

// next is the next request of the schedule: its time since the base, and its connection.
func (g *generator) next() (at int64, on int) {
	at, on = g.schedule.next()
	return at + lead, on
}

// wait waits for something to read, for at most so many nanoseconds; at 0 or below it only looks.
// It returns how many events there are.
func (g *generator) wait(ns int64) (int, error) {
	var wait unix.Timespec
	if ns > 0 {
		// A thread's timers may be 50 us late by default. The goroutine may have moved to another
		// thread.
		_, _, _ = unix.RawSyscall(unix.SYS_PRCTL, unix.PR_SET_TIMERSLACK, 1, 0)
		wait = unix.NsecToTimespec(min(ns, longestSleep))
	}
	n, _, errno := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT2, uintptr(g.epoll), uintptr(unsafe.Pointer(&g.events[0])), uintptr(len(g.events)),
		uintptr(unsafe.Pointer(&wait)), 0, 0)
	switch errno {
	case 0:
		return int(n), nil
	case unix.EINTR:
		return 0, nil
	case unix.ENOSYS:
		return 0, errors.New("epoll_pwait2: this needs Linux 5.11 or later")
	}
	return 0, fmt.Errorf("epoll: %w", errno)
}

// send writes a request whose time was at, now.
func (g *generator) send(c *connection, at, now int64) error {
	if at >= g.from {
		g.result.Sent++
		record(g.late, now-at)
	}
	c.due.push(at)
	if g.unanswered++; g.unanswered > mostUnanswered {
		return fmt.Errorf("%d requests are not answered: the server does not keep up with %.0f a second", g.unanswered, g.load.Rate)
	}
	if len(c.unsent) > 0 {
		c.unsent = append(c.unsent, g.request...)
		return nil
	}
	n, err := write(c.fd, g.request)
	if err != nil || n == len(g.request) {
		return err
	}
	c.unsent = append(c.unsent, g.request[n:]...)
	return g.await(c, true)
}

// serve reads what has come on a connection, and writes what it had no room for. It returns the
// time.
func (g *generator) serve(c *connection, events uint32) (int64, error) {
	if events&unix.EPOLLOUT != 0 && c.awaits {
		n, err := write(c.fd, c.unsent)
		if err != nil {
			return 0, err
		}
		c.unsent = append(c.unsent[:0], c.unsent[n:]...)
		if len(c.unsent) == 0 {
			if err := g.await(c, false); err != nil {
				return 0, err
			}
		}
	}
	if events&^unix.EPOLLOUT == 0 {
		return g.clock(), nil
	}
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(c.fd), uintptr(unsafe.Pointer(&g.buffer[0])), uintptr(len(g.buffer)))
	now := g.clock()
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return now, nil
	case errno != 0:
		return now, fmt.Errorf("the server's replies cannot be read: %w", errno)
	case n == 0:
		return now, errors.New("the server has closed a connection")
	}
	for b := g.buffer[:n]; ; {
		rest, ok, err := c.replies.next(b)
		if err != nil || !ok {
			return now, err
		}
		if c.due.len() == 0 {
			return now, fmt.Errorf("%w: a reply that nobody asked for", errNotRESP)
		}
		g.answered(c.due.pop(), now, c.replies.refused)
		b = rest
	}
}

// answered notes the reply to the request of the time at.
func (g *generator) answered(at, now int64, refused bool) {
	g.unanswered--
	switch {
	case at < g.from:
	case refused:
		g.result.Refused++
	default:
		record(g.latency, now-at)
	}
}

// giveUp counts what is not answered.
func (g *generator) giveUp(now int64) {
	for i := range g.connections {
		for d := &g.connections[i].due; d.len() > 0; {
			if at := d.pop(); at >= g.from {
				g.result.Unanswered++
				record(g.latency, now-at)
			}
		}
	}
}

// sum reads off what was counted.
func (g *generator) sum() Result {
	r := g.result
	r.Latency, r.Late = spread(g.latency), spread(g.late)
	return r
}

// await has room to write be waited for, or no longer.
func (g *generator) await(c *connection, room bool) error {
	c.awaits = room
	e := unix.EpollEvent{Events: unix.EPOLLIN}
	if room {
		e.Events |= unix.EPOLLOUT
	}
	for i := range g.connections {
		if &g.connections[i] == c {
			e.Fd = int32(i)
		}
	}
	if err := unix.EpollCtl(g.epoll, unix.EPOLL_CTL_MOD, c.fd, &e); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	return nil
}

// write writes as much as there is room for.
func write(fd int, b []byte) (int, error) {
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)))
	switch errno {
	case 0:
		return int(n), nil
	case unix.EAGAIN, unix.EINTR:
		return 0, nil
	}
	return 0, fmt.Errorf("the server takes no requests: %w", errno)
}
