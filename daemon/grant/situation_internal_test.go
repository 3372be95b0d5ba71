package grant

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// A step follows from the situation alone.
func TestTheNextStep(t *testing.T) {
	const second = clockguard.Mono(time.Second)
	// well is 20 s after the start, 5 s before the next publish, with 60 of 100 ticks of 1 s left.
	well := func(change func(*situation)) situation {
		s := situation{
			now: 20 * second, tick: 1000, serves: true, granted: 1060, furthest: 1100, publish: 9 * time.Second, length: time.Second,
			past: past{well: true, due: 25 * second, half: 50},
		}
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		change func(*situation)
		want   step
		pause  time.Duration
	}{
		"all is well":                         {func(*situation) {}, rest, 5 * time.Second},
		"nothing is held":                     {func(s *situation) { s.serves, s.well = false, false }, claim, 0},
		"Hold begins":                         {func(s *situation) { s.past = past{} }, extend, 0},
		"a claim was made":                    {func(s *situation) { s.well, s.granted = false, 0 }, extend, 0},
		"half is left soon":                   {func(s *situation) { s.granted = 1052 }, rest, 2 * time.Second},
		"half is left":                        {func(s *situation) { s.granted = 1050 }, extend, 0},
		"half is left, and no more is to be":  {func(s *situation) { s.granted, s.furthest = 1050, 1050 }, rest, 5 * time.Second},
		"the clock is centuries back":         {func(s *situation) { s.tick = -1 << 62 }, rest, 5 * time.Second},
		"something was issued":                {func(s *situation) { s.news = true }, rest, 5 * time.Second},
		"something was issued a publish ago":  {func(s *situation) { s.news, s.now = true, 25*second }, extend, 0},
		"nothing was issued for a publish":    {func(s *situation) { s.now = 26 * second }, rest, 9 * time.Second},
		"another is asked for":                {func(s *situation) { s.unwanted = true }, reLease, 0},
		"another is asked for, as it is lost": {func(s *situation) { s.unwanted, s.serves = true, false }, reLease, 0},
		"another was replaced":                {func(s *situation) { s.replaced, s.unwanted, s.serves = true, true, false }, giveBack, 0},
		"another was replaced, half is left":  {func(s *situation) { s.replaced, s.granted = true, 1050 }, giveBack, 0},
		"something has failed": {func(s *situation) {
			s.well, s.retryAt, s.replaced, s.unwanted, s.serves = false, 21*second, true, true, false
		}, rest, time.Second},
		"something failed before": {func(s *situation) { s.well, s.retryAt = false, 20*second }, extend, 0},
	} {
		if got, pause := well(c.change).next(); got != c.want || pause != c.pause {
			t.Errorf("%s: %s for %v, want %s for %v", name, got, pause, c.want, c.pause)
		}
	}
}
