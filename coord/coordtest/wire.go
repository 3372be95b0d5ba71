package coordtest

import (
	"errors"
	"sync"
)

// Wire is what a coordinator's requests to the servers go over. The zero value lets all through.
type Wire struct {
	Faults Faults
	Delays Delays
}

// Send makes one request, which send does. One that is held back when life ends fails.
func (w *Wire) Send(life <-chan struct{}, send func() error) error {
	return w.Delays.Send(life, func() error { return w.Faults.Send(send) })
}

// ErrFault is what a request answers that a test made fail.
var ErrFault = errors.New("fault made by the test")

// Faults makes single requests fail. The zero value lets all through. It may be used concurrently.
type Faults struct {
	mu       sync.Mutex
	armed    bool
	after    int
	landed   bool
	happened bool
}

// Arm makes the request that comes after n others fail: before it is sent, or, if
// landed, once it has succeeded. A later Arm takes its place.
func (f *Faults) Arm(n int, landed bool) (happened func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.armed, f.after, f.landed, f.happened = true, n, landed, false
	return func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.happened
	}
}

// Send makes one request, which send does, or makes it fail.
func (f *Faults) Send(send func() error) error {
	fails, landed := f.next()
	if fails && !landed {
		return ErrFault
	}
	if err := send(); err != nil || !fails {
		return err
	}
	return ErrFault
}

func (f *Faults) next() (fails, landed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.armed {
		return false, false
	}
	if f.after--; f.after >= 0 {
		return false, false
	}
	f.armed, f.happened = false, true
	return true, f.landed
}

// Delays holds single requests back. The zero value lets all through. It is safe for concurrent
// use.
type Delays struct {
	mu      sync.Mutex
	armed   bool
	after   int
	held    chan struct{}
	release chan struct{}
	done    chan struct{}
}

// Arm holds the request that comes after n others back. held is closed when it has come; release
// lets it go on, and returns when it has ended.
func (d *Delays) Arm(n int) (held <-chan struct{}, release func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed, d.after = true, n
	d.held, d.release, d.done = make(chan struct{}), make(chan struct{}), make(chan struct{})
	open, done := d.release, d.done
	return d.held, func() {
		close(open)
		<-done
	}
}

// Send makes one request, which send does, at once or when it is released. One that is held back
// when life ends fails.
func (d *Delays) Send(life <-chan struct{}, send func() error) error {
	if release, done := d.next(); release != nil {
		defer close(done)
		select {
		case <-release:
		case <-life:
			return ErrFault
		}
	}
	return send()
}

// disarm lets all through again that nobody has held back yet.
func (d *Delays) disarm() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.armed = false
}

func (d *Delays) next() (release <-chan struct{}, done chan<- struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.armed {
		return nil, nil
	}
	if d.after--; d.after >= 0 {
		return nil, nil
	}
	d.armed = false
	close(d.held)
	return d.release, d.done
}
