//go:build !drill

package daemon

import (
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/resp"
)

// witness is nothing here: it is for builds with the tag drill, which can write down all that a daemon does.
type witness struct{}

func (*Daemon) testify() (witness, error)                         { return witness{}, nil }
func (witness) source(s resp.Source) resp.Source                  { return s }
func (witness) coordinator(c coord.Coordinator) coord.Coordinator { return c }
func (witness) close() error                                      { return nil }
