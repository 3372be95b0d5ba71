package serve

import (
	"net"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// inbox is what other goroutines ask of the loop. Its methods are called by them, except for take.
type inbox struct {
	notifier int         // file descriptor of an eventfd: can be read when there are requests
	notified atomic.Bool // the notifier has been written to since the last take

	mu       sync.Mutex
	requests requests // since the last take
	sealed   bool     // nothing more is asked of the loop
}

type requests struct {
	fresh       []*conn         // connections to be served
	disconnects []chan struct{} // each closed once the connections before it are
	alive       []chan struct{} // each closed by the next round
	changed     bool            // what waits for a change is tried again
	over        bool            // more is kept than the budget allows
	drain       bool
	stop        bool
	freeze      *freezing
}

func (b *inbox) add(nc net.Conn, g client) error {
	defer nc.Close() // the loop has its own descriptor
	fd, err := duplicate(nc)
	if err != nil {
		return err
	}
	c := newConn(fd, g)
	if !b.ask(func(r *requests) { r.fresh = append(r.fresh, c) }) {
		_ = unix.Close(fd)
		return net.ErrClosed
	}
	return nil
}

func (b *inbox) tooMuch() { b.ask(func(r *requests) { r.over = true }) }

func (b *inbox) wake() { b.ask(func(r *requests) { r.changed = true }) }

func (b *inbox) live() <-chan struct{} {
	done := make(chan struct{})
	if !b.ask(func(r *requests) { r.alive = append(r.alive, done) }) {
		close(done)
	}
	return done
}

func (b *inbox) disconnect() {
	done := make(chan struct{})
	if b.ask(func(r *requests) { r.disconnects = append(r.disconnects, done) }) {
		<-done
	}
}

func (b *inbox) drain() { b.ask(func(r *requests) { r.drain = true }) }

func (b *inbox) stop() { b.ask(func(r *requests) { r.stop = true }) }

// ask adds a request and wakes the loop. It returns false if the loop has ended.
func (b *inbox) ask(add func(*requests)) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sealed {
		return false
	}
	add(&b.requests)
	if !b.notified.Swap(true) {
		one := [8]byte{1}
		_, _ = unix.Write(b.notifier, one[:])
	}
	return true
}

// take returns what has been asked for; after the last call nothing is asked any more. All of it is
// taken at once: with a drain come the connections that were added before it, so none of them is
// closed unread.
func (b *inbox) take(last bool) requests {
	b.mu.Lock()
	defer b.mu.Unlock()
	var count [8]byte
	_, _ = unix.Read(b.notifier, count[:])
	b.notified.Store(false)
	b.sealed = last
	taken := b.requests
	b.requests = requests{}
	return taken
}
