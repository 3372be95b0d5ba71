package daemon

import (
	"errors"
	"strconv"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/daemon/vmclock"
	"github.com/flakeward/flakeward/generator"
)

// machine is what the daemon runs on, as far as it is told from its copies.
type machine struct {
	identity   string        // the file that names it; empty: the system's
	page       *vmclock.Page // nil: the hypervisor shows none
	generation generator.Generation
	log        hclog.Logger
}

// open maps the page in which the hypervisor shows the machine's generation, if it does.
func (m *machine) open(path string) {
	page, err := vmclock.Open(path)
	switch {
	case err == nil:
		m.page = page
	case errors.Is(err, vmclock.ErrNone):
		m.log.Debug("a copy of the running machine would not be noticed", "reason", err)
	default:
		m.log.Warn("a copy of the running machine is not noticed", "error", err)
	}
}

func (m *machine) close() error {
	if m.page == nil {
		return nil
	}
	return m.page.Close()
}

// host is what the machine is known by, as a part of the journal's place. The generation that it
// names is what a start is bound to from then on.
func (m *machine) host() place.Host {
	host, err := place.ThisHost(m.identity)
	switch {
	case err == nil:
	case m.identity == "", errors.Is(err, place.ErrUnset): // nobody has chosen that
		m.log.Info("the machine has no identity that survives a reboot: the first start after one claims another worker ID; "+
			"--machine-identity FILE sets one", "reason", err)
	default:
		m.log.Warn("--machine-identity names no usable identity: the first start after a reboot claims another worker ID; name a file "+
			"that no other machine has, such as a copy of /sys/class/dmi/id/product_uuid, which root can make at each boot", "reason", err)
	}
	m.generation = generator.Generation{}
	if m.page == nil {
		return host
	}
	if generation, ok := m.page.Generation(); ok {
		m.generation = generator.Generation{Now: m.page.Counter(), Then: generation}
		host.VM = strconv.FormatUint(generation, 10)
		m.log.Info("the virtual machine's generation is watched", "generation", host.VM)
	}
	return host
}
