package dir

import (
	"os"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/internal/filesystem"
)

// Sync makes c sync files and directories with f, which may do so with sync.
func Sync(c *Coordinator, f func(file *os.File, sync func(*os.File) error) error) {
	c.store.sync = func(file *os.File) error { return f(file, syncFile) }
}

// Watch has c's requests go over the wire. One that is held back takes place late, when the context
// of whoever waited for it has ended.
func Watch(c *Coordinator, wire *coordtest.Wire) {
	c.store.through = func(send func() error) error { return wire.Send(c.store.life.Done(), send) }
}

// Failed is the error of a file that could not be used.
func Failed(path string, err error) error { return failed(path, err) }

// Lasts is whether a directory may lie on a file system.
func Lasts(path string, fuse bool, kind filesystem.Type) error {
	return Config{Path: path, FUSE: fuse, Log: hclog.NewNullLogger()}.lasts(kind)
}

// InOrder is a Config whose daemons are assigned worker IDs from 0 on.
func (c Config) InOrder() Config { c.inOrder = true; return c }
