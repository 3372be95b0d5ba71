package lifecycle

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
)

// mostLines is how many lines of one kind are logged within a minute.
const mostLines = 6

// lines lets through so many lines a minute: two services may fight over a clock for days.
type lines struct {
	at   [mostLines]clockguard.Mono // when the last ones were
	said int
}

func (l *lines) may(now clockguard.Mono) bool {
	last := &l.at[l.said%mostLines]
	if l.said >= mostLines && now.Sub(*last) < time.Minute {
		return false
	}
	*last = now
	l.said++
	return true
}

// stepped logs what Watch observes of the clock. A line that has to wait is logged as soon as it
// may be, if it is still true by then. So the last line says how the clock is.
type stepped struct {
	lifecycle    *Lifecycle
	holds, steps lines
	owed         bool          // a hold has begun, and no line has said so
	by           time.Duration // the step that is owed
}

func (s *stepped) say(now clockguard.Mono, o clockguard.Observation) {
	log := s.lifecycle.Log
	switch {
	case o.Held:
		s.owed, s.by = true, o.Step
	case o.Ended:
		if s.lifecycle.saidHeld.Swap(false) {
			s.lifecycle.Events.Happened(condition.ClockBack)
			log.Info("the clock is back at what was known", "code", condition.ClockBack, "stepped_by", o.Step.Round(time.Millisecond))
		}
		s.owed = false
	case o != (clockguard.Observation{}) && s.steps.may(now):
		log.Warn("the clock has stepped", "by", o.Step.Round(time.Millisecond))
	}
	if !s.owed {
		return
	}
	if _, _, held := s.lifecycle.Clock.Holding(); !held { // it is followed by now
		s.owed = false
	} else if s.holds.may(now) {
		s.owed = false
		s.lifecycle.saidHeld.Store(true)
		s.lifecycle.Events.Happened(condition.ClockHeld)
		log.Warn("the clock has stepped ahead and is not believed yet; going on by the monotonic clock", "code", condition.ClockHeld, "by", s.by.Round(time.Millisecond), "do", condition.ClockHeld.Do())
	}
}
