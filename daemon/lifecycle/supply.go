package lifecycle

import (
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
)

const (
	// leastHalf is how long issuing must still be possible for half of that to be worth a line.
	leastHalf = 5 * time.Second
	// briefly is how long issuing may stop without a failure, as for a slow coordinator, before
	// that is said.
	briefly = time.Second
)

// supply says in the log, once each, what operators have to know: that issuing will stop, that half
// of the time until then is over, that it has stopped, and that it goes on.
type supply struct {
	lifecycle *Lifecycle
	served    bool                    // the lane could issue since the start
	said      map[condition.Code]bool // since all was well last
	warned    clockguard.Reading      // when it was first said that issuing will stop
	ends      time.Time               // when that will be, as said last; zero: not said
	half      bool                    // half of it is said to be over
	stopped   time.Time               // since when issuing has stopped, if that was said
	ended     clockguard.Mono         // the same, by the clock that nobody sets
	well      clockguard.Mono         // when a look has last found that nothing is stopped
	behind    bool                    // the clock is said to be behind
	since     clockguard.Mono         // when that was said
	lines     lines                   // that say so
}

func newSupply(l *Lifecycle) *supply { return &supply{lifecycle: l, said: map[condition.Code]bool{}} }

// look compares the lane with what was said last.
func (s *supply) look() {
	now := s.lifecycle.Clock.Now()
	s.lookAtClock(now)
	c, _ := s.lifecycle.Holder.Condition().(*condition.Condition)
	failed := c != nil && !errors.Is(c, condition.ErrLate)
	if at := s.lifecycle.followed.Load(); c != nil && at != 0 && now.Mono.Sub(clockguard.Mono(at)) < briefly {
		return // known time has just stepped beyond the grant, and the next one is under way
	}
	if c == nil || !c.Stopped {
		s.well = now.Mono
	}
	s.served = s.served || c == nil || !c.Stopped
	switch {
	case c == nil:
		s.over(now)
	case !s.served && c.Code != condition.FloorAhead: // a start has not stopped issuing; that it has to wait for the clock is worth a line
	case c.Stopped:
		if failed || time.Duration(now.Wall-c.Since.UnixNano()) >= briefly {
			s.stop(now, c)
		}
	case failed:
		if !s.stopped.IsZero() {
			s.over(now)
		}
		s.warn(now, c)
	}
}

func (s *supply) once(code condition.Code, say func()) {
	if !s.said[code] {
		s.said[code] = true
		s.lifecycle.Events.Happened(code)
		say()
	}
}

// warn says that issuing will stop, once for each cause, and when half of the time is over.
func (s *supply) warn(now clockguard.Reading, c *condition.Condition) {
	in := time.Duration(c.Ends.UnixNano() - now.Wall).Round(time.Millisecond)
	if s.ends.IsZero() {
		s.warned = now
	}
	s.once(c.Code, func() {
		s.ends = c.Ends
		s.lifecycle.Log.Warn("IDs run out unless this is fixed", "code", c.Code, "ends", c.Ends, "in", in, "error", c.Err, "do", c.Do())
		s.lifecycle.status(fmt.Sprintf("%s until %s, unless this is fixed: %v", Issuing, c.Ends.UTC().Format(time.RFC3339), c.Err))
	})
	whole := time.Duration(c.Ends.UnixNano() - s.warned.Wall)
	if !s.half && whole >= leastHalf && in <= whole/2 {
		s.half = true
		s.lifecycle.Events.Happened(condition.HalfOver)
		s.lifecycle.Log.Warn("half of the time until issuing stops is over", "code", condition.HalfOver, "cause", c.Code, "ends", c.Ends, "in", in, "error", c.Err, "do", c.Do())
	}
}

// stop says that issuing has stopped, or that it is stopped for another reason now.
func (s *supply) stop(now clockguard.Reading, c *condition.Condition) {
	s.once(c.Code, func() {
		event := "issuing has stopped"
		if !s.stopped.IsZero() {
			event = "issuing is still stopped, for another reason now"
		}
		s.stopped, s.ended = c.Since, max(s.well, now.Mono-max(0, clockguard.Mono(now.Wall-c.Since.UnixNano())))
		said := []any{"code", c.Code}
		if c.Cause != "" {
			said = append(said, "cause", c.Cause)
		}
		said = append(said, "since", c.Since)
		if !c.Last.IsZero() {
			said = append(said, "last", c.Last)
		}
		s.lifecycle.Log.Error(event, append(said, "error", c.Err, "do", c.Do())...)
		s.lifecycle.status(fmt.Sprintf("no ID can be issued since %s: %v: %s", c.Since.UTC().Format(time.RFC3339), c.Err, c.Do()))
	})
}

// over says that what was said to be wrong is over.
func (s *supply) over(now clockguard.Reading) {
	switch {
	case !s.stopped.IsZero():
		s.lifecycle.Events.Happened(condition.Issuing)
		s.lifecycle.Log.Info("issuing goes on", "code", condition.Issuing, "after", now.Mono.Sub(s.ended).Round(time.Millisecond))
	case !s.ends.IsZero():
		s.lifecycle.Events.Happened(condition.Recovered)
		s.lifecycle.Log.Info("recovered: IDs do not run out any more", "code", condition.Recovered, "after", time.Duration(now.Mono-s.warned.Mono).Round(time.Millisecond))
	}
	if len(s.said) > 0 {
		s.lifecycle.status(Issuing)
	}
	clear(s.said)
	s.ends, s.stopped, s.half = time.Time{}, time.Time{}, false
}

// lookAtClock says that the clock is behind what was issued, and when it is not any more.
func (s *supply) lookAtClock(now clockguard.Reading) {
	until := s.lifecycle.Layout.StartOf(s.lifecycle.Holder.Holding().Issued)
	by := time.Duration(until.UnixNano() - now.Wall)
	switch {
	case !s.behind && by > WatchEvery && s.lines.may(now.Mono):
		s.behind, s.since = true, now.Mono
		s.lifecycle.Events.Happened(condition.ClockBehind)
		s.lifecycle.Log.Warn("the clock is behind the last ID: requests get what earlier ticks left or another worker ID's, or wait",
			"code", condition.ClockBehind, "by", by.Round(time.Millisecond), "until", until, "do", condition.ClockBehind.Do())
	case s.behind && by <= 0:
		s.lifecycle.Events.Happened(condition.ClockBack)
		s.lifecycle.Log.Info("the clock is not behind the last ID any more", "code", condition.ClockBack, "after", now.Mono.Sub(s.since).Round(time.Millisecond))
		s.behind = false
	}
}
