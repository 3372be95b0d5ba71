package claims

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
)

func (s *scripted) Clocks(context.Context, Entry, clockguard.Clock) ([]Shown, error) {
	return s.shown, s.fails
}

// What a server told in an exchange is carried on to the end of the call, and its error is what
// the server left out and what nobody knows of the exchange.
func TestClocksAreAsOfTheAnswer(t *testing.T) {
	at := func(seconds float64) clockguard.Mono { return clockguard.Mono(seconds * 1e9) }
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		shown Shown
		now   clockguard.Mono
		time  time.Time
		error time.Duration
	}{
		"at once":       {Shown{Time: noon, Unit: time.Second, Sent: at(5), Answered: at(5)}, at(5), noon.Add(500 * time.Millisecond), 500 * time.Millisecond},
		"exactly":       {Shown{Time: noon, Sent: at(5), Answered: at(5)}, at(5), noon, 0},
		"slowly":        {Shown{Time: noon, Unit: 2 * time.Millisecond, Sent: at(5), Answered: at(5.4)}, at(5.4), noon.Add(201 * time.Millisecond), 201 * time.Millisecond},
		"before others": {Shown{Time: noon, Unit: time.Second, Sent: at(5), Answered: at(5.4)}, at(6), noon.Add(1300 * time.Millisecond), 700 * time.Millisecond},
		"an odd time":   {Shown{Time: noon, Sent: 0, Answered: 3}, 3, noon.Add(2), 2},
	} {
		got := c.shown.at(c.now)
		if got.Err != nil || !got.Time.Equal(c.time) || got.Error != c.error {
			t.Errorf("%s: %+v, want %v to %v", name, got, c.time, c.error)
		}
		// The two ends: it showed Time when it was sent, or a Unit more when it was answered.
		early, late := c.shown.Time.Add(c.now.Sub(c.shown.Answered)), c.shown.Time.Add(c.shown.Unit+c.now.Sub(c.shown.Sent))
		if early.Before(got.Time.Add(-got.Error)) || late.After(got.Time.Add(got.Error)) {
			t.Errorf("%s: %+v does not reach from %v to %v", name, got, early, late)
		}
	}
}

// A time that no reading of a clock holds is no time.
func TestClocksThatShowNoTime(t *testing.T) {
	for _, shows := range []time.Time{{}, time.Unix(-1, 0), time.UnixMilli(1 << 62), time.UnixMilli(-1 << 63), time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)} {
		if got := (Shown{Server: "s", Time: shows, Unit: time.Second}).at(0); got.Err == nil || got.Server != "s" || !got.Time.IsZero() || got.Error != 0 {
			t.Errorf("%v: %+v; want an error", shows, got)
		}
	}
}

func TestClocks(t *testing.T) {
	s, c := newScripted(t)
	clock := clocktest.NewManual(time.Unix(0, 0))
	c.clock = clock
	away := errors.New("away")
	s.shown = []Shown{{Server: "a", Time: time.Unix(1000, 0), Unit: time.Second}, {Server: "b", Err: away}}
	clock.Advance(3 * time.Second)
	got, err := c.Clocks(t.Context())
	if err != nil || len(got) != 2 {
		t.Fatalf("Clocks: %+v, %v", got, err)
	}
	if got[0].Server != "a" || !got[0].Time.Equal(time.UnixMilli(1_003_500)) {
		t.Errorf("%+v; want 1003.5 s", got[0])
	}
	if got[1].Server != "b" || !errors.Is(got[1].Err, away) {
		t.Errorf("%+v; want that it is away", got[1])
	}
	s.fails = away
	if got, err := c.Clocks(t.Context()); !errors.Is(err, away) || got != nil {
		t.Errorf("Clocks: %+v, %v", got, err)
	}
}
