package cluster

import (
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// windowed is the sample with the longest window that the cluster ever had.
func windowed(t *testing.T, window time.Duration) Cluster {
	t.Helper()
	c := sample(t, text, 0)
	c.Longest = window
	return c
}

// What is reckoned goes by the longest window that the cluster ever had, which is 10 minutes at the
// least.
func TestTargetGoesByTheWindow(t *testing.T) {
	for _, k := range []struct{ window, enough time.Duration }{
		{time.Minute, 10 * time.Minute}, {11 * time.Minute, 11 * time.Minute}, {3 * time.Hour, 3 * time.Hour}, {24 * time.Hour, 24 * time.Hour}, {0, 10 * time.Minute},
	} {
		c := windowed(t, k.window)
		if got := c.Target(noon); got != at(k.enough+5*time.Minute) {
			t.Errorf("window %v: the target is %d, want 5 minutes beyond", k.window, got)
		}
		if err := c.CheckTarget(c.Target(noon), noon, Furthest, false); err != nil {
			t.Errorf("window %v: its own target is refused: %v", k.window, err)
		}
		if err := c.CheckTarget(at(k.enough), noon, Furthest, false); err != nil {
			t.Errorf("window %v: a target of just as much is refused: %v", k.window, err)
		}
		err := c.CheckTarget(at(k.enough-time.Millisecond), noon, Furthest, false)
		if err == nil || !strings.Contains(err.Error(), "less than the "+k.enough.String()) || !strings.Contains(err.Error(), "--force") {
			t.Errorf("window %v: a target of less: %v, want that it has to be forced", k.window, err)
		}
		if err := c.CheckTarget(at(k.enough-time.Millisecond), noon, Furthest, true); err != nil {
			t.Errorf("window %v: forced: %v", k.window, err)
		}
	}
}

func TestWindowOfAVisit(t *testing.T) {
	for window, want := range map[generator.Tick]time.Duration{0: 0, 600_000: 10 * time.Minute, 86_400_000: 24 * time.Hour, 1 << 62: 24 * time.Hour} {
		c, err := Of(coord.Inspected{Layout: text, Window: window})
		if err != nil || c.Window != want {
			t.Errorf("%d ticks: %v, %v; want %v", window, c.Window, err, want)
		}
	}
}

func TestCheckTarget(t *testing.T) {
	c := windowed(t, 10*time.Minute)
	for _, k := range []struct {
		name string
		to   generator.Tick
		want string // part of the error; empty: none
		even bool   // where it is forced
	}{
		{"ahead", at(15 * time.Minute), "", false},
		{"the tick that the clock is in", at(0), "--force", false},
		{"one before", at(-time.Millisecond), "has passed", true},
		{"long ago", 0, "has passed", true},
		{"just enough", at(10 * time.Minute), "", false},
		{"just not enough", at(10*time.Minute - time.Millisecond), "less than the 10m0s that daemons may have been granted, the longest window that the cluster ever had", false},
		{"just within", at(25*time.Hour - time.Millisecond), "", false},
		{"just beyond", at(25 * time.Hour), "more than --max", false},
		{"the last tick", c.Layout.MaxTick(), "no ID could ever be issued again", true},
		{"after it", c.Layout.MaxTick() + 1, "no ID could ever be issued again", true},
		{"the last but one", c.Layout.MaxTick() - 1, "--force", false},
	} {
		err := c.CheckTarget(k.to, noon, Furthest, false)
		if k.want == "" && err != nil || k.want != "" && (err == nil || !strings.Contains(err.Error(), k.want)) {
			t.Errorf("%s: %v, want %q", k.name, err, k.want)
		}
		if err := c.CheckTarget(k.to, noon, Furthest, true); (err != nil) != k.even {
			t.Errorf("%s, forced: %v", k.name, err)
		}
	}
}

func TestTickOf(t *testing.T) {
	c := windowed(t, 10*time.Minute)
	if got, err := c.TickOf(noon.Add(1500 * time.Microsecond)); got != at(time.Millisecond) || err != nil {
		t.Errorf("got %d, %v", got, err)
	}
	for when, want := range map[string]string{
		"2025-12-31T23:59:59Z": "before the layout's epoch",
		"0001-01-01T00:00:00Z": "before the layout's epoch",
		"2095-09-08T00:00:00Z": "ends on 2095-09-07",
		"9999-01-01T00:00:00Z": "ends on 2095-09-07", // no int64 of nanoseconds holds it
	} {
		parsed := must.Get(time.Parse(time.RFC3339, when))(t)
		if _, err := c.TickOf(parsed); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", when, err, want)
		}
	}
}
