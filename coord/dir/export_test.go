package dir

import (
	"os"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/filesystem"
)

// Sync makes c sync files and directories with f, which may do so with sync.
func Sync(c *Coordinator, f func(file *os.File, sync func(*os.File) error) error) {
	c.store.sync = func(file *os.File) error { return f(file, syncFile) }
}

// Delays holds single requests back.
type Delays struct {
	mu      sync.Mutex
	armed   bool
	after   int
	held    chan struct{}
	release chan struct{}
	done    chan struct{}
}

// Watch makes c's requests subject to d and to faults. One that is held back takes place late, when
// the context of whoever waited for it has ended.
func (d *Delays) Watch(c *Coordinator, faults *coordtest.Faults) {
	c.store.through = func(send func() error) error {
		if release, done := d.hold(); release != nil {
			defer close(done)
			select {
			case <-release:
			case <-c.store.life.Done():
				return coordtest.ErrFault
			}
		}
		return faults.Send(send)
	}
}

func (d *Delays) hold() (release <-chan struct{}, done chan<- struct{}) {
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

// Arm holds the request after n others back.
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

// Failed is the error of a file that could not be used.
func Failed(path string, err error) error { return failed(path, err) }

// Lasts is whether a directory may lie on a file system.
func Lasts(path string, fuse bool, kind filesystem.Type) error {
	return Config{Path: path, FUSE: fuse, Log: hclog.NewNullLogger()}.lasts(kind)
}

// InOrder is a Config whose daemons are assigned worker IDs from 0 on.
func (c Config) InOrder() Config { c.inOrder = true; return c }
