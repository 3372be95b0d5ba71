package grant

import (
	"sync"
	"sync/atomic"

	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

// Spent is what one daemon knows to be issued, by worker ID, beyond what the coordinator says: one
// that was wiped or restored knows less. The holders of a daemon share one, as a worker ID that one
// of them has left may be dealt to another, and as what the coordinator has answered to one of them
// is true for all. Its methods may be called from any goroutine.
type Spent struct {
	poisoned atomic.Bool // the coordinator has answered no for good: no journal must be used around it

	mu      sync.Mutex
	to      map[int]generator.Tick
	holders []*Holder // those that share it

	raising sync.Mutex // guards what follows
	newest  int        // the number of the last raise that was told
}

// NewSpent knows nothing yet.
func NewSpent() *Spent { return &Spent{to: map[int]generator.Tick{}} }

// add adds a holder to those that share s.
func (s *Spent) add(k *Holder) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holders = append(s.holders, k)
}

// Note notes that ticks up to to may have been issued.
func (s *Spent) Note(worker int, to generator.Tick) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to[worker] = max(s.to[worker], to)
}

// NoteAll notes what a journal says, whether or not it is issued from.
func (s *Spent) NoteAll(c journal.Contents) {
	for _, e := range c.Lanes {
		s.Note(e.Worker, e.Mark)
	}
}

// To is up to where the worker ID may have been issued from; 0 if nothing is known.
func (s *Spent) To(worker int) generator.Tick {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.to[worker]
}
