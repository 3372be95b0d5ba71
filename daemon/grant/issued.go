package grant

import (
	"sync"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Issued is what one daemon knows to be issued, by worker ID, beyond what the coordinator says: one
// that was wiped or restored knows less. Its methods may be called from any goroutine.
type Issued struct {
	mu      sync.Mutex
	highest map[int]generator.Tick
	held    *holdings

	learning sync.Mutex
}

// Note notes that ticks above from, up to to, may have been issued.
func (s *Issued) Note(worker int, from, to generator.Tick) {
	if from >= to {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.highest[worker] = max(s.highest[worker], to)
}

// To is up to where the worker ID may have been issued from, by what is known; 0 if nothing is.
func (s *Issued) To(worker int) generator.Tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.highest[worker]
}

// Learn has the daemon go by what is known of the cluster: its window, and the last raise.
//
// A raise of all marks is for a coordinator that does not know all that it has granted: it was
// restored from a backup. A grant of this daemon's may be among that, and may reach beyond what all
// was raised to, where the next holder of the worker ID begins. So the lanes that were opened before
// are cut there: the one in use, and the one that is being left.
func (s *Issued) Learn(known func() coord.Cluster) {
	s.learning.Lock() // until the lanes have it, so that none has two raises in another order
	defer s.learning.Unlock()
	now := known()
	s.held.pace.learn(now.Window)
	s.held.cut(now.Raise)
}
