package daemon

import "github.com/flakeward/flakeward/daemon/budget"

// memory is what a daemon may use of it, and for what.
type memory struct {
	budget.Memory
	clients *budget.Budget // of all connections together
}

func newMemory(c Config) memory {
	m := budget.FindMemory(c.Memory)
	return memory{Memory: m, clients: budget.New(m.Clients())}
}
