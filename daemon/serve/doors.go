package serve

import (
	"context"
	"net"
	"sync"
	"time"
)

// doors are the listeners that the server accepts from, each in a goroutine. They can be shut and
// opened again all together.
type doors struct {
	broken chan error // gets why accepting from one has ended by itself

	mu        sync.Mutex
	all       []net.Listener
	accept    func(context.Context, net.Listener) error // nil: accepting has not begun, or has ended
	stop      context.CancelFunc
	accepting sync.WaitGroup
}

// Open has Serve, which is called later, accept from a further listener as well. It closes it in
// the end.
func (s *Server) Open(l net.Listener) { s.doors.all = append(s.doors.all, l) }

// begin has accept called for each listener, in a goroutine.
func (a *doors) begin(accept func(context.Context, net.Listener) error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.accept, a.broken = accept, make(chan error, 1)
	a.start()
}

// start begins to accept. The caller holds mu.
func (a *doors) start() {
	ctx, stop := context.WithCancel(context.Background())
	a.stop = stop
	for _, l := range a.all {
		a.accepting.Go(func() {
			if err := a.accept(ctx, l); ctx.Err() == nil {
				select {
				case a.broken <- err:
				default: // the first will do
				}
			}
		})
	}
}

// end closes all, each after last, which may be nil.
func (a *doors) end(last func(net.Listener)) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accept != nil {
		a.stop()
	}
	for _, l := range a.all {
		if last != nil {
			last(l)
		}
		_ = l.Close()
	}
	a.accepting.Wait()
	a.accept = nil
}

// shut has nobody accept until open is called, and returns once nobody does. It reports whether it
// could.
func (a *doors) shut() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accept == nil || !a.delay(time.Time{}) {
		return false
	}
	a.stop()
	a.delay(time.Unix(1, 0))
	a.accepting.Wait()
	return true
}

// open lets accepting go on.
func (a *doors) open() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.accept != nil && a.delay(time.Time{}) {
		a.start()
	}
}

// delay has each Accept fail at t; zero: not at all. It reports whether each will.
func (a *doors) delay(t time.Time) bool {
	for _, l := range a.all {
		if can, ok := l.(interface{ SetDeadline(time.Time) error }); !ok || can.SetDeadline(t) != nil {
			return false
		}
	}
	return true
}
