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
	ctx      context.Context
	cancel   context.CancelFunc
	ended    chan struct{} // closed when accepting has ended,
	err      error         // with this
	stands   bool          // accepting stands still; guarded by doors.mu
}

func newDoor(l net.Listener) *door {
	d := &door{listener: l, ended: make(chan struct{})}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	return d
}

// Open has the server accept from a further listener as well, which it closes in the end. It may be
// called before Serve.
func (s *Server) Open(l net.Listener) { s.doors.add(newDoor(l)) }

// close ends accepting, after last.
func (d *door) close(last func(*door)) {
	d.cancel()
	if last != nil {
		last(d)
	}
	_ = d.listener.Close()
	<-d.ended
}

// doors are those that there are. They can be held up all together.
type doors struct {
	mu      sync.Mutex
	all     map[*door]struct{}
	accept  func(*door) error // nil: accepting has not begun
	over    bool              // there are none any more
	held    chan struct{}     // closed when accepting goes on; nil: it does
	moving  int               // doors that have yet to stand still,
	settled chan struct{}     // closed once none has
}

// add has a door accepted from, once accepting begins.
func (a *doors) add(d *door) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.over:
		close(d.ended)
		d.close(nil)
		return
	case a.all == nil:
		a.all = make(map[*door]struct{})
	}
	a.all[d] = struct{}{}
	if a.held != nil && d.delay(longAgo) {
		d.stands = true // before it has moved
	}
	if a.accept != nil {
		a.start(d)
	}
}

// begin has accept called for each door, in a goroutine.
func (a *doors) begin(accept func(*door) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accept = accept
	for d := range a.all {
		a.start(d)
	}
}

// start begins to accept. The caller holds mu.
func (a *doors) start(d *door) {
	accept := a.accept
	go func() {
		d.err = accept(d)
		d.cancel()
		a.mu.Lock()
		a.stand(d) // it accepts nothing more
		delete(a.all, d)
		a.mu.Unlock()
		close(d.ended)
	}()
}

// end closes all doors, each after last (which may be nil), and those that come later at once.
func (a *doors) end(last func(*door)) {
	a.mu.Lock()
	all, begun := a.all, a.accept != nil
	a.all, a.over = nil, true
	a.mu.Unlock()
	for d := range all {
		if !begun {
			close(d.ended)
		}
		d.close(last)
	}
}

// delay has Accept fail at t; zero: not at all. It reports whether it will.
func (d *door) delay(t time.Time) bool {
	l, ok := d.listener.(interface{ SetDeadline(time.Time) error })
	return ok && l.SetDeadline(t) == nil
}

// shut has accepting stand still, and waits until it does.
func (a *doors) shut(ctx context.Context) error {
	a.mu.Lock()
	if a.accept == nil || len(a.all) == 0 || a.held != nil {
		a.mu.Unlock()
		return ErrNotFrozen
	}
	a.held, a.settled, a.moving = make(chan struct{}), make(chan struct{}), len(a.all)
	settled, err := a.settled, error(nil)
	for d := range a.all {
		if d.stands = false; !d.delay(longAgo) {
			err = ErrNotFrozen
		}
	}
	a.mu.Unlock()
	if err == nil {
		select {
		case <-settled:
			return nil
		case <-ctx.Done():
			err = ctx.Err()
		}
	}
	a.open()
	return err
}

// open lets accepting go on.
func (a *doors) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.held == nil {
		return
	}
	for d := range a.all {
		d.delay(time.Time{})
	}
	close(a.held)
	a.held = nil
}

// wait is called by who accepts, when that was interrupted.
func (a *doors) wait(d *door) {
	a.mu.Lock()
	held := a.held
	a.stand(d)
	a.mu.Unlock()
	if held == nil {
		return
	}
	select {
	case <-held:
	case <-d.ctx.Done():
	}
}

// stand notes that a door stands still. The caller holds mu.
func (a *doors) stand(d *door) {
	if a.held == nil || d.stands {
		return
	}
	d.stands = true
	if a.moving--; a.moving == 0 {
		close(a.settled)
	}
}

var longAgo = time.Unix(1, 0)
