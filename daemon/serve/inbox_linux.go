package serve

import (
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// inbox is what other goroutines tell the loop.
type inbox struct {
	mu       sync.Mutex
	fresh    []*conn
	closed   bool
	cuts     []chan struct{} // of those who wait until the connections are closed
	notified atomic.Bool     // an event is on its way
	changed  atomic.Bool
	drain    atomic.Bool
	stop     atomic.Bool
}

func (l *loop) wake() {
	l.inbox.changed.Store(true)
	l.notify()
}

func (l *loop) disconnect() {
	done := make(chan struct{})
	l.inbox.mu.Lock()
	if l.inbox.closed {
		l.inbox.mu.Unlock()
		return
	}
	l.inbox.cuts = append(l.inbox.cuts, done)
	l.inbox.mu.Unlock()
	l.notify()
	<-done
}

func (l *loop) drain() {
	l.inbox.drain.Store(true)
	l.notify()
}

func (l *loop) stop() {
	l.inbox.stop.Store(true)
	l.notify()
}

// notify has the loop look at its inbox.
func (l *loop) notify() {
	if l.inbox.notified.Swap(true) {
		return
	}
	l.inbox.mu.Lock()
	defer l.inbox.mu.Unlock()
	if l.notifier >= 0 {
		one := [8]byte{1}
		_, _ = unix.Write(l.notifier, one[:])
	}
}

// attend does what other goroutines asked for. It returns true once everything is closed.
func (l *loop) attend() bool {
	l.poller.keepsP = severalPs() // Go changes it with the limits of a container
	var count [8]byte
	_, _ = unix.Read(l.notifier, count[:])
	l.inbox.notified.Store(false)
	if l.inbox.stop.Load() {
		l.shut()
		return true
	}
	// Looked at before the fresh ones are taken: who was added before the drain began is then among
	// them, and not closed unread.
	drain := l.inbox.drain.Load()
	l.inbox.mu.Lock()
	fresh, cuts := l.inbox.fresh, l.inbox.cuts
	l.inbox.fresh, l.inbox.cuts = nil, nil
	l.inbox.mu.Unlock()
	if len(cuts) > 0 {
		l.dropAll(cuts)
	}
	for _, c := range fresh {
		l.adopt(c)
	}
	if drain && !l.draining {
		l.draining = true
		for _, c := range l.conns {
			if c != nil {
				l.limitToReceived(c)
			}
		}
	}
	l.retry(l.inbox.changed.Swap(false))
	l.cutOff()
	l.setTimer()
	return false
}

// shut closes everything, the connections that were never adopted too.
func (l *loop) shut() {
	l.inbox.mu.Lock()
	l.inbox.closed = true
	fresh, cuts := l.inbox.fresh, l.inbox.cuts
	l.inbox.fresh, l.inbox.cuts = nil, nil
	l.inbox.mu.Unlock()
	for _, c := range fresh {
		_ = unix.Close(c.fd)
		l.counts.ended.Add(1)
	}
	l.dropAll(cuts)
}

// dropAll closes the connections that were adopted, and tells those who wait for that.
func (l *loop) dropAll(cuts []chan struct{}) {
	for _, c := range l.conns {
		if c != nil {
			l.drop(c)
		}
	}
	for _, done := range cuts {
		close(done)
	}
}
