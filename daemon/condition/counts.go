package condition

import "sync/atomic"

// Counts counts events by their code. Its methods may be called from any goroutine, and on nil,
// which counts nothing.
type Counts struct{ n []atomic.Uint64 }

// NewCounts has counted nothing.
func NewCounts() *Counts { return &Counts{make([]atomic.Uint64, len(Table))} }

// Happened counts an event. A code that Table does not have is not counted.
func (c *Counts) Happened(code Code) {
	if at := indexOf(code); c != nil && at >= 0 {
		c.n[at].Add(1)
	}
}

// Of returns how often an event has happened.
func (c *Counts) Of(code Code) uint64 {
	if at := indexOf(code); c != nil && at >= 0 {
		return c.n[at].Load()
	}
	return 0
}

// indexOf returns a code's place in Table, -1 if it has none.
func indexOf(code Code) int {
	for i, e := range Table {
		if e.Code == code {
			return i
		}
	}
	return -1
}
