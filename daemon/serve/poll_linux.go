package serve

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// poller waits for events of the loop's files: connections, the timer, and the notifier.
//
// Being woken is what costs most: both the thread that wakes and the one that is woken pay for it.
// So the poller has three ways to wait, and wait chooses between them:
//
//   - The batching sleep: a sleep of a fixed length, whatever happens meanwhile. Several requests
//     are there afterwards, and no client had to wake the loop. It is taken while many
//     clients are active and no request waits for IDs.
//   - The direct wait: epoll_pwait called without telling Go's scheduler, so that the goroutine
//     keeps its P. It lasts for at most 2 ms. It is taken while traffic is dense, by the only loop
//     of the process.
//   - The scheduled wait: EpollWait, which gives the P to other goroutines. It is taken otherwise.
//
// While a connection has more to answer, the poller looks for events and does not wait.
type poller struct {
	epoll     int // file descriptor
	events    [eventsAtOnce]unix.EpollEvent
	more      [moreAtOnce]unix.EpollEvent
	batching  batching
	keepsP    bool // other goroutines can run during a direct wait
	scheduled int  // how many of the next waits are scheduled
}

const (
	// eventsAtOnce is above the number of connections that most daemons have, so that a round shows
	// whose turn it is.
	eventsAtOnce = 4 << 10
	// directly is how many connections of a user the loop waits for directly. It waits for the
	// others by way of one file, so that thousands of them neither hide those of another user nor
	// have to be looked through each time.
	directly = 1 << 10
	// moreAtOnce is how many of the others' events are looked at in a round.
	moreAtOnce = 256
	// longestDirect bounds a direct wait. Without direct waits, the scheduler takes the P of a loop
	// that waits thousands of times a second again and again. A thread looks for such a P every 20
	// µs, and another is woken to take it over: a seventh of the processor time. A collection of
	// garbage that has to stop the loop meanwhile sends it a signal, which ends the wait.
	longestDirect = 2 * time.Millisecond
	// scheduledAfter is how many waits are scheduled after a direct one without an event: where
	// waits are long, other goroutines get the P.
	scheduledAfter = 64
)

// loops is how many loops there are in this process. With several, as where tests run many daemons
// in one process, no loop waits directly: together they would keep all Ps.
var loops atomic.Int32

// severalPs tells whether other goroutines can run while the loop keeps its P.
func severalPs() bool { return runtime.GOMAXPROCS(0) > 1 }

func newPoller() (*poller, error) {
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("epoll_create: %w", err)
	}
	return &poller{epoll: epoll, keepsP: severalPs()}, nil
}

func (p *poller) close() { _ = unix.Close(p.epoll) }

// watch adds a file to the poller's own, or changes the events that are watched for.
func (p *poller) watch(op, fd int, events uint32) error { return watch(p.epoll, op, fd, events) }

// watch adds a file to those of an epoll, or changes the events that are watched for.
func watch(epoll, op, fd int, events uint32) error {
	if err := unix.EpollCtl(epoll, op, fd, &unix.EpollEvent{Events: events, Fd: int32(fd)}); err != nil {
		return fmt.Errorf("epoll_ctl: %w", err)
	}
	return nil
}

// open makes an epoll that is watched in its turn.
func (p *poller) open() (epoll int, err error) {
	if epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return 0, fmt.Errorf("epoll_create: %w", err)
	}
	if err = p.watch(unix.EPOLL_CTL_ADD, epoll, unix.EPOLLIN); err != nil {
		_ = unix.Close(epoll)
	}
	return epoll, err
}

// wait returns the next events; none after a signal. While there is more to do it does not wait for
// them. Pending says that a request waits for IDs.
func (p *poller) wait(more, pending bool) []unix.EpollEvent {
	p.batching.round()
	if more {
		return p.direct(0)
	}
	if !pending && p.batching.due() {
		events := p.direct(0)
		if len(events) == 0 {
			sleepNow(batchSleep)
			events = p.direct(0)
			p.batching.slept(len(events))
		}
		if len(events) > 0 {
			return events
		}
	}
	switch {
	case !p.keepsP || loops.Load() > 1:
	case p.scheduled > 0:
		p.scheduled--
	default:
		if events := p.direct(longestDirect); len(events) > 0 {
			return events
		}
		p.scheduled = scheduledAfter
	}
	n, err := unix.EpollWait(p.epoll, p.events[:], -1)
	if err != nil {
		return nil
	}
	return p.events[:n]
}

func (p *poller) direct(most time.Duration) []unix.EpollEvent {
	return p.events[:pollNow(p.epoll, p.events[:], most)]
}

const (
	// batchSleep is how long a batching sleep is. With 30 µs, 50 clients of redis-benchmark cost
	// three quarters of the processor time that they cost without it, and were served 15% faster.
	// 20 µs brought somewhat less, and 50 µs or more no higher rate.
	batchSleep = 30 * time.Microsecond
	// batchRounds is over how many rounds connections are counted as active.
	batchRounds = 16
	// batchActive is how many different connections must have been active in that time. It is above
	// batchRounds: the loop sleeps only where rounds bring more than one request anyway. With 8
	// clients batching sleeps brought nothing.
	batchActive = 24
	// batchWorth is how many connections must have something after a sleep for it to have paid.
	batchWorth = 3
	// batchesSkipped is how many sleeps are left out after one that did not pay. They are few: on a
	// busy machine a sleep that took too long says little.
	batchesSkipped = 2
)

// batching decides when a batching sleep pays. It pays as long as the clients are still busy with
// earlier replies. Once most of them have asked again, they may be idle by now, and the loop should
// have been there.
type batching struct {
	epoch  uint32 // counts the times of batchRounds, and the looks for idle connections
	rounds int    // in this one
	seen   int    // different connections in this one
	active int    // the same in the last one
	skip   int    // sleeps to be left out
}

// round begins a round.
func (b *batching) round() {
	if b.rounds++; b.rounds > batchRounds {
		b.active, b.seen, b.rounds = b.seen, 0, 1
		b.epoch++
	}
}

// saw counts a connection that has something; in is the epoch it was seen in last.
func (b *batching) saw(in *uint32) {
	if *in != b.epoch {
		*in = b.epoch
		b.seen++
	}
}

// due tells whether to sleep now.
func (b *batching) due() bool {
	if b.active < batchActive {
		return false
	}
	if b.skip > 0 {
		b.skip--
		return false
	}
	return true
}

// slept judges a sleep by the number of events after it.
func (b *batching) slept(n int) {
	if n < batchWorth || 2*n > b.active {
		b.skip = batchesSkipped
	}
}
