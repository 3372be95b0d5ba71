package daemon

import (
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/generator"
)

// memory is what a daemon may use of it, and for what.
type memory struct {
	budget.Memory
	tenants int            // that a lane may issue to, besides 0; 0: as many as the layout has
	clients *budget.Budget // of all connections together
}

func newMemory(c Config, layout *generator.Layout) memory {
	m := budget.FindMemory(c.Memory)
	tenants, connections := m.Rings(generator.RingBytes(layout), c.IDs.Lanes, int64(layout.Max(generator.Tenant)))
	return memory{Memory: m, tenants: int(tenants), clients: budget.New(connections)}
}
