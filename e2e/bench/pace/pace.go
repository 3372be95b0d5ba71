// Package pace puts an open-loop load on a server that speaks RESP over a Unix socket, and measures
// how long each request took.
//
// Open loop: every request has a time at which it is to be sent, laid down before anything is sent.
// No reply is waited for: while the server is slow, requests go out as they would have, several on
// one connection if need be, and what it took counts from the time that was laid down. A load
// generator that sends a connection's next request when the last one is answered asks less of a
// server that stalls, and so hides the stall (coordinated omission).
//
// The generator shares the machine with the server, so it is measured too: Result.Late says how
// long after its time each request was written. What is late here is part of the latency, and is
// not the server's fault.
package pace

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/internal/wire"
)

// Load is what to ask for, and how fast.
type Load struct {
	Socket      string
	Request     []string      // the words of each request; a reply is one line, an integer or an error
	Rate        float64       // requests a second, all connections together
	Connections int           // 1 or more
	Seed        uint64        // of the schedule: the same one lays down the same times
	Warm        time.Duration // sent before Length and not counted
	Length      time.Duration // of the schedule that is counted, above 0
}

// Result is what came of a load. Requests of Warm are in no figure.
type Result struct {
	Sent    int    // requests whose time was within Length, each of which was answered
	Refused int    // of these, answered with an error
	Latency Spread // from a request's time to its reply; refused ones are not in it
	Late    Spread // from a request's time to when it was written
}

// Spread is how a duration was spread.
type Spread struct{ P50, P99, P999, P9999, Max time.Duration }

func spread(ns []int64) Spread {
	slices.Sort(ns)
	at := func(share float64) time.Duration {
		if len(ns) == 0 {
			return 0
		}
		return time.Duration(ns[int(share*float64(len(ns)-1))])
	}
	return Spread{P50: at(.5), P99: at(.99), P999: at(.999), P9999: at(.9999), Max: at(1)}
}

const (
	// spin is how long before a request's time the generator stops sleeping and polls. Sleeping
	// ends some tens of microseconds late, polling takes the processor that it runs on. This suits
	// 50,000 requests a second on two processors that are shared with the server: half of the
	// requests are written within 1 us of their time, where they are 16 us late if the generator
	// only sleeps, and it leaves the server more of its own processor than polling all the time
	// does.
	spin = int64(20 * time.Microsecond)
	// lead is how long before its first request's time a schedule begins.
	lead = int64(2 * time.Millisecond)
	// longestSleep bounds one sleep, so that the end of the context is seen.
	longestSleep = int64(10 * time.Millisecond)
	// timeout is how long the last replies are waited for.
	timeout = int64(5 * time.Second)
)

// schedule lays down when requests are to be sent and on which connection.
//
// The times between two requests are exponentially distributed and the connection is drawn: a
// Poisson process, which is what many callers make who do not know of each other. Requests then
// come in clumps, as they do in life, and a server has to cope. With equal times each connection
// would send at the same offset into every millisecond: the load would run in step with a server
// that counts in milliseconds, and either always or never meet its ticks' edges.
type schedule struct {
	gap         float64 // ns, on average
	connections int
	random      *rand.Rand
	at          float64 // ns
}

func newSchedule(l Load) *schedule {
	return &schedule{float64(time.Second) / l.Rate, l.Connections, rand.New(rand.NewPCG(l.Seed, 0)), float64(lead)}
}

// next is the next request: its time, in nanoseconds from the beginning, and its connection.
func (s *schedule) next() (at int64, connection int) {
	s.at += s.random.ExpFloat64() * s.gap
	return int64(s.at), s.random.IntN(s.connections)
}

// connection is one connection of the load.
type connection struct {
	fd              int
	due             []int64 // the times of the requests that are not answered
	within, refused bool    // a line has begun, which is an error
}

// generator is a load under way. Everything happens in one goroutine; it makes its system calls
// without telling the scheduler, as they either do not block or wait for a short time on purpose.
type generator struct {
	request       []byte
	connections   []connection
	epoll         int
	events        [128]unix.EpollEvent
	buffer        [64 << 10]byte
	base          time.Time
	from          int64 // of what is counted, in nanoseconds since base
	unanswered    int   // all requests, those of Warm included
	refused       int
	latency, late []int64
}

// Run puts the load on the server and returns when all is answered, or ctx ends, which is an error.
// So is a request that is not answered, or that the server does not take. It is meant for a process
// of its own: it turns the garbage collector off meanwhile, and may use a whole core.
func Run(ctx context.Context, l Load) (Result, error) {
	g := &generator{request: wire.AppendCommand(nil, l.Request...)}
	defer func() {
		for _, c := range g.connections {
			_ = unix.Close(c.fd) // nothing is lost
		}
		_ = unix.Close(g.epoll)
	}()
	if err := g.connect(l); err != nil {
		return Result{}, err
	}
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	if err := g.run(ctx, l); err != nil {
		return Result{}, err
	}
	return Result{Sent: len(g.late), Refused: g.refused, Latency: spread(g.latency), Late: spread(g.late)}, nil
}

func (g *generator) connect(l Load) (err error) {
	if g.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return fmt.Errorf("epoll: %w", err)
	}
	for i := range l.Connections {
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
		g.connections = append(g.connections, connection{fd: fd})
		// Before it is made non-blocking: a full queue of connections is waited for.
		if err := unix.Connect(fd, &unix.SockaddrUnix{Name: l.Socket}); err != nil {
			return fmt.Errorf("connection %d to %s: %w", i+1, l.Socket, err)
		}
		if err := errors.Join(unix.SetNonblock(fd, true), unix.EpollCtl(g.epoll, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(i)})); err != nil {
			return fmt.Errorf("connection %d: %w", i+1, err)
		}
	}
	return nil
}

// clock is the time in nanoseconds since the base, monotonic.
func (g *generator) clock() int64 { return int64(time.Since(g.base)) }

// run sends what the schedule says and reads what comes, until all is answered.
func (g *generator) run(ctx context.Context, l Load) error {
	g.base = time.Now()
	g.from = lead + int64(l.Warm)
	to := g.from + int64(l.Length)
	plan := newSchedule(l)
	at, on := plan.next()
	// send sends what is due, and returns the time.
	send := func() (now int64, err error) {
		for now = g.clock(); at <= now && at < to; now = g.clock() {
			if err := g.send(&g.connections[on], at, now); err != nil {
				return 0, err
			}
			at, on = plan.next()
		}
		return now, nil
	}
	for {
		now, err := send()
		switch {
		case err != nil:
			return err
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case at >= to && g.unanswered == 0:
			return nil
		case at >= to && now > to+timeout:
			return fmt.Errorf("of %d requests %d are not answered after %v", len(g.late), g.unanswered, time.Duration(timeout))
		}
		until := at
		if at >= to {
			until = now + longestSleep
		}
		n, err := g.wait(until - now - spin)
		if err != nil {
			return err
		}
		for _, e := range g.events[:n] {
			if err := g.read(&g.connections[e.Fd]); err != nil {
				return err
			}
			if _, err := send(); err != nil { // what is due does not wait for what has come
				return err
			}
		}
	}
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
	}
	return 0, fmt.Errorf("epoll_pwait2, which Linux has since 5.11: %w", errno)
}

// send writes a request whose time was at, now.
func (g *generator) send(c *connection, at, now int64) error {
	if at >= g.from {
		g.late = append(g.late, now-at)
	}
	c.due = append(c.due, at)
	g.unanswered++
	n, _, errno := unix.RawSyscall(unix.SYS_WRITE, uintptr(c.fd), uintptr(unsafe.Pointer(&g.request[0])), uintptr(len(g.request)))
	if errno != 0 || int(n) < len(g.request) {
		return fmt.Errorf("the server does not take a request, of %d that are not answered: %w", g.unanswered, errno)
	}
	return nil
}

// read reads what has come on a connection, and notes the replies that have ended.
func (g *generator) read(c *connection) error {
	n, _, errno := unix.RawSyscall(unix.SYS_READ, uintptr(c.fd), uintptr(unsafe.Pointer(&g.buffer[0])), uintptr(len(g.buffer)))
	switch {
	case errno == unix.EAGAIN || errno == unix.EINTR:
		return nil
	case errno != 0:
		return fmt.Errorf("the server's replies cannot be read: %w", errno)
	case n == 0:
		return errors.New("the server has closed a connection")
	}
	now := g.clock()
	for _, b := range g.buffer[:n] {
		switch {
		case !c.within && b != ':' && b != '-' || len(c.due) == 0:
			return fmt.Errorf("what the server sends is no integer and no error of RESP that was asked for: %.80q", g.buffer[:n])
		case !c.within:
			c.within, c.refused = true, b == '-'
		case b == '\n':
			g.answered(c.due[0], now, c.refused)
			c.due, c.within = c.due[1:], false
		}
	}
	return nil
}

// answered notes the reply to the request of the time at.
func (g *generator) answered(at, now int64, refused bool) {
	g.unanswered--
	switch {
	case at < g.from:
	case refused:
		g.refused++
	default:
		g.latency = append(g.latency, now-at)
	}
}
