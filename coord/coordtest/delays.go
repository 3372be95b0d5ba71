package coordtest

import "sync"

// Delays holds single requests back, for Harness.Delay. The zero value lets all through. It is safe
// for concurrent use.
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
