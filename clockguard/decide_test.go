package clockguard

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	ns = time.Nanosecond
	ms = time.Millisecond
)

var limits = Limits{MaxSleep: 5 * ms, Span: 2048 * ms}

func TestDecide(t *testing.T) {
	const (
		none    = -ns // no room before the lag is over
		sleep   = 5 * ms
		span    = 2048 * ms
		forever = time.Duration(math.MaxInt64)
	)
	for _, tt := range []struct {
		name        string
		lag, roomIn time.Duration
		reachable   bool
		anyRoom     bool
		want        Answer
		wantFor     time.Duration
	}{
		{"no lag", 0, 0, true, true, Issue, 0},
		{"no lag, and nothing else either", 0, none, false, false, Issue, 0},
		{"ahead", -ns, none, false, false, Issue, 0},
		{"far ahead", math.MinInt64, none, false, false, Issue, 0},

		{"behind by 1 ns", ns, 0, true, true, Sleep, ns},
		{"behind by 1 ns, and nothing else", ns, none, false, false, Sleep, ns},
		{"just under the longest sleep", sleep - ns, 0, true, true, Sleep, sleep - ns},
		{"the longest sleep", sleep, 0, true, true, Sleep, sleep},
		{"the longest sleep, and no room", sleep, none, true, true, Sleep, sleep},
		{"just over the longest sleep", sleep + ns, 0, true, true, Ring, 0},

		{"just inside the ring", span - ns, 0, true, true, Ring, 0},
		{"at the ring's end", span, 0, true, true, Ring, 0},
		{"at the ring's end, no coordinator", span, 0, false, false, Ring, 0},
		{"just past the ring's end", span + ns, 0, true, true, ReLease, 0},
		{"just past it, no coordinator", span + ns, 0, false, true, Backfill, 0},
		{"just past it, nothing left", span + ns, 0, false, false, Wait, span + ns},

		{"room in 1 ns", span, ns, true, true, Sleep, ns},
		{"room just under the longest sleep", span, sleep - ns, true, true, Sleep, sleep - ns},
		{"room at the longest sleep", span, sleep, true, true, Sleep, sleep},
		{"room at the longest sleep, no coordinator", span, sleep, false, false, Sleep, sleep},
		{"room just over the longest sleep", span, sleep + ns, true, true, ReLease, 0},
		{"room just over it, no coordinator", span, sleep + ns, false, true, Backfill, 0},
		{"room soon, but past the ring's end", span + ns, ns, true, true, ReLease, 0},
		{"room soon, past the end, no coordinator", span + ns, ns, false, true, Backfill, 0},

		{"no room", sleep + ns, none, true, true, ReLease, 0},
		{"no room, and a coordinator that is all there is", sleep + ns, none, true, false, ReLease, 0},
		{"no room at the clock's tick, no coordinator", sleep + ns, none, false, true, Backfill, 0},
		{"no room at all", sleep + ns, none, false, false, Wait, sleep + ns},
		{"least room", sleep + ns, math.MinInt64, false, false, Wait, sleep + ns},

		{"an hour back", time.Hour, none, true, false, ReLease, 0},
		{"an hour back, no coordinator", time.Hour, none, false, true, Backfill, 0},
		{"an hour back, nothing left", time.Hour, none, false, false, Wait, time.Hour},
		{"for ever", forever, forever, false, false, Wait, forever},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Situation{Lag: tt.lag, RoomIn: tt.roomIn, Reachable: tt.reachable, AnyRoom: tt.anyRoom}
			if got, want := Decide(limits, s), (Decision{tt.want, tt.wantFor}); got != want {
				t.Errorf("Decide(%+v) = %v for %v, want %v for %v", s, got.Answer, got.For, want.Answer, want.For)
			}
		})
	}
}

// drawSituation favours the boundaries of limits.
func drawSituation(t *rapid.T) Situation {
	length := func(name string) time.Duration {
		near := rapid.SampledFrom([]time.Duration{0, limits.MaxSleep, limits.Span, time.Hour}).Draw(t, name)
		return near + time.Duration(rapid.Int64Range(-int64(10*ms), int64(10*ms)).Draw(t, name+" off by"))
	}
	return Situation{
		Lag: length("lag"), RoomIn: length("room in"),
		Unordered: rapid.Bool().Draw(t, "unordered"), Reachable: rapid.Bool().Draw(t, "reachable"), AnyRoom: rapid.Bool().Draw(t, "any room"),
	}
}

// Where the ring has been used, the order that a sleep would keep is lost.
func TestDecideWithoutOrder(t *testing.T) {
	for _, tt := range []struct {
		name        string
		lag, roomIn time.Duration
		want        Answer
		wantFor     time.Duration
	}{
		{"no lag", 0, 0, Issue, 0},
		{"behind by 1 ns, room", ns, 0, Ring, 0},
		{"behind by 1 ns, room later", ns, ns, Sleep, ns},
		{"behind by 1 ns, no room", ns, -ns, Sleep, ns},
		{"the longest sleep, room", 5 * ms, 0, Ring, 0},
		{"the longest sleep, room later", 5 * ms, ns, Sleep, 5 * ms},
		{"over the longest sleep, room", 5*ms + ns, 0, Ring, 0},
		{"past the ring's end", 2048*ms + ns, 0, ReLease, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := Situation{Lag: tt.lag, RoomIn: tt.roomIn, Unordered: true, Reachable: true, AnyRoom: true}
			if got, want := Decide(limits, s), (Decision{tt.want, tt.wantFor}); got != want {
				t.Errorf("Decide(%+v) = %v for %v, want %v for %v", s, got.Answer, got.For, want.Answer, want.For)
			}
		})
	}
	short := Limits{MaxSleep: time.Second, Span: ms}
	if got := Decide(short, Situation{Lag: ms + ns, Unordered: true, Reachable: true}); got.Answer != Sleep {
		t.Errorf("past the end of a ring that is shorter than the longest sleep: %v, want a sleep", got.Answer)
	}
}

// TestHole10NoSleepAsLongAsTheRollback: sonyflake sleeps about R after a rollback
// of R, and holds its lock meanwhile. Here no rollback, however long, makes anyone
// sleep longer than MaxSleep, and what is decided needs no lock to be held.
func TestHole10NoSleepAsLongAsTheRollback(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawSituation(t)
		d := Decide(limits, s)
		if waits := d.Answer == Sleep || d.Answer == Wait; waits != (d.For > 0) || d.For < 0 {
			t.Fatalf("%v for %v", d.Answer, d.For)
		}
		if d.Answer == Sleep && (d.For > limits.MaxSleep || d.For > s.Lag) {
			t.Fatalf("a sleep of %v, for a lag of %v and a longest sleep of %v", d.For, s.Lag, limits.MaxSleep)
		}
		if d.Answer == Wait && (s.Reachable || s.AnyRoom) {
			t.Fatalf("waits for %v although something is left: %+v", d.For, s)
		}
	})
}

// TestALongerLagNeverGetsACheaperAnswer: the answers are in the order of what they
// cost, and with all else equal the cost only grows with the lag.
func TestALongerLagNeverGetsACheaperAnswer(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		near := drawSituation(t)
		far := near
		far.Lag += time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "longer by"))
		a, b := Decide(limits, near), Decide(limits, far)
		if near.RoomIn == 0 && a.Answer > b.Answer {
			t.Fatalf("%v at a lag of %v, but %v at %v", a.Answer, near.Lag, b.Answer, far.Lag)
		}
		if a.Answer >= ReLease && b.Answer != a.Answer {
			t.Fatalf("%v at a lag of %v, but %v at %v", a.Answer, near.Lag, b.Answer, far.Lag)
		}
	})
}

func TestNewLimits(t *testing.T) {
	for _, tt := range []struct {
		name                 string
		maxSleep, span, tick time.Duration
		says                 string // "": accepted
	}{
		{"the defaults", 5 * ms, 2048 * ms, ms, ""},
		{"a sleep of a tick", 10 * ms, 2 * time.Second, 10 * ms, ""},
		{"a sleep just under a tick", 10*ms - ns, 2 * time.Second, 10 * ms, "make it at least 10ms"},
		{"a span of two ticks", time.Second, 2 * time.Second, time.Second, ""},
		{"a span just under two ticks", time.Second, 2*time.Second - ns, time.Second, "two ticks"},
		{"no span", ms, 0, ms, "two ticks"},
		{"a span below 0", ms, -ms, ms, "two ticks"},
		{"no sleep", 0, time.Second, ms, "shorter than a tick"},
		{"no tick", ms, time.Second, 0, "no length of time"},
		{"a tick below 0", ms, time.Second, -ms, "no length of time"},
		{"two ticks that overflow", math.MaxInt64, math.MaxInt64, math.MaxInt64/2 + 1, "two ticks"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := NewLimits(tt.maxSleep, tt.span, tt.tick)
			if tt.says == "" {
				if want := (Limits{tt.maxSleep, tt.span}); err != nil || got != want {
					t.Errorf("NewLimits = %v, %v, want %v", got, err, want)
				}
			} else if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("NewLimits = %v, %v, want an error that says %q", got, err, tt.says)
			}
		})
	}
}

func TestAnswersHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for a := Issue; a <= Wait; a++ {
		if s := a.String(); s == "" || strings.HasPrefix(s, "answer") || seen[s] {
			t.Errorf("answer %d is called %q", a, s)
		} else {
			seen[s] = true
		}
	}
	if got := (Wait + 1).String(); got != "answer 6" {
		t.Errorf("an unknown answer is called %q", got)
	}
}
