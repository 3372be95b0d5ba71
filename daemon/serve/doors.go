package serve

import (
	"context"
	"net"
	"sync"
	"time"
)

// door is a listener that the server accepts from. One goroutine does.
type door struct {
	listener net.Listener
	stop     context.CancelFunc // has the goroutine end; nil: there was none yet
	stopped  chan struct{}      // closed when it has
	broken   chan struct{}      // closed when accepting has ended by itself,
	err      error              // with this
}

func newDoor(l net.Listener) *door { return &door{listener: l, broken: make(chan struct{})} }

// Open has the server accept from a further listener as well, which it closes in the end. It may be
// called before Serve.
func (s *Server) Open(l net.Listener) { s.doors.add(newDoor(l)) }

// close ends accepting, after last.
func (d *door) close(last func(*door)) {
	if d.stop != nil {
		d.stop()
	}
	if last != nil {
		last(d)
	}
	_ = d.listener.Close()
	if d.stop != nil {
		<-d.stopped
	}
}

// delay has Accept fail at t; zero: not at all. It reports whether it will.
func (d *door) delay(t time.Time) bool {
	l, ok := d.listener.(interface{ SetDeadline(time.Time) error })
	return ok && l.SetDeadline(t) == nil
}

// doors are those that there are. They can be shut and opened again all together.
type doors struct {
	mu     sync.Mutex
	all    map[*door]struct{}
	accept func(context.Context, net.Listener) error // nil: accepting has not begun
	over   bool                                      // there are none any more
	closed bool                                      // nobody accepts
}

// add has a door accepted from, once accepting begins.
func (a *doors) add(d *door) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		d.close(nil)
		return
	case a.all == nil:
		a.all = make(map[*door]struct{})
	}
	a.all[d] = struct{}{}
	if a.accept != nil && !a.closed {
		a.start(d)
	}
}

// begin has accept called for each door, in a goroutine.
func (a *doors) begin(accept func(context.Context, net.Listener) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accept = accept
	for d := range a.all {
		a.start(d)
	}
}

// start begins to accept, once whoever was stopped has ended. The caller holds mu.
func (a *doors) start(d *door) {
	ctx, stop := context.WithCancel(context.Background())
	before, stopped, accept := d.stopped, make(chan struct{}), a.accept
	d.stop, d.stopped = stop, stopped
	go func() {
		defer close(stopped)
		if before != nil {
			<-before
		}
		err := accept(ctx, d.listener)
		if ctx.Err() != nil {
			return
		}
		stop()
		a.mu.Lock()
		delete(a.all, d)
		a.mu.Unlock()
		d.err = err
		close(d.broken)
	}()
}

// end closes all doors, each after last (which may be nil), and those that come later at once.
func (a *doors) end(last func(*door)) {
	a.mu.Lock()
	all := a.all
	a.all, a.over = nil, true
	a.mu.Unlock()
	for d := range all {
		d.close(last)
	}
}

// shut has nobody accept until open is called, and waits until nobody does.
func (a *doors) shut(ctx context.Context) error {
	stopped, err := a.stop()
	if err != nil {
		return err
	}
	for _, c := range stopped {
		select {
		case <-c:
		case <-ctx.Done():
			a.open()
			return ctx.Err()
		}
	}
	return nil
}

// stop ends accepting from all doors. What it returns is closed once it has ended.
func (a *doors) stop() (stopped []<-chan struct{}, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accept == nil || len(a.all) == 0 || a.closed {
		return nil, ErrNotFrozen
	}
	for d := range a.all {
		if !d.delay(time.Time{}) {
			return nil, ErrNotFrozen
		}
	}
	a.closed = true
	for d := range a.all {
		d.stop()
		d.delay(time.Unix(1, 0))
		stopped = append(stopped, d.stopped)
	}
	return stopped, nil
}

// open lets accepting go on.
func (a *doors) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = false
	for d := range a.all {
		d.delay(time.Time{})
		a.start(d)
	}
}
