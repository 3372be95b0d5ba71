package coordtest

import (
	"errors"
	"sync"
)

// ErrFault is what a request answers that a test made fail.
var ErrFault = errors.New("fault made by the test")

// Faults makes single requests fail, for Harness.Fault. The zero value lets all
// through. It is safe for concurrent use.
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
