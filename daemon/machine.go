package daemon

import (
	"errors"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/vmclock"
	"github.com/flakeward/flakeward/generator"
)

// machine is what the daemon runs on, as far as it is told from its copies.
type machine struct {
	page       *vmclock.Page // nil: the hypervisor shows none
	generation generator.Generation
	log        hclog.Logger
}

// open maps the page in which the hypervisor shows the machine's generation, if it does. The
// generation that it has now is what the process is bound to.
func (m *machine) open(path string) {
	page, err := vmclock.Open(path)
	switch {
	case err == nil:
		m.page = page
	case errors.Is(err, vmclock.ErrNone):
		m.log.Debug("a copy of the running machine would not be noticed", "reason", err)
		return
	default:
		m.log.Warn("a copy of the running machine is not noticed", "error", err)
		return
	}
	if generation, ok := page.Generation(); ok {
		m.generation = generator.Generation{Now: page.Counter(), Then: generation}
		m.log.Info("the virtual machine's generation is watched", "generation", generation)
	}
}

func (m *machine) close() error {
	if m.page == nil {
		return nil
	}
	return m.page.Close()
}
