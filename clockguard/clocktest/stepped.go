package clocktest

import (
	"sync/atomic"

	"github.com/flakeward/flakeward/clockguard"
)

// Stepped is the real clock, with what a test has stepped its wall part by.
type Stepped struct {
	clockguard.System
	By atomic.Int64
}

// Now implements clockguard.Clock.
func (s *Stepped) Now() clockguard.Reading {
	r := s.System.Now()
	r.Wall += s.By.Load()
	return r
}
