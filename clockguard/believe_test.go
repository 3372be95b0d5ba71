package clockguard

import (
	"errors"
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const (
	s  = time.Second
	hr = time.Hour
	// now is what the wall clock shows.
	now = int64(100 * hr)
)

// members have come to times that are behind the wall clock by so much.
func members(behind ...time.Duration) (times []int64) {
	for _, d := range behind {
		times = append(times, now-int64(d))
	}
	return times
}

// silent is a member that has published no time.
const silent = time.Duration(now)

func TestBelief(t *testing.T) {
	const (
		window         = 10 * time.Minute
		held, followed = false, true
	)
	for _, tt := range []struct {
		name string
		e    Evidence
		want bool
		why  error
		for_ time.Duration
	}{
		{"alone", Evidence{}, held, ErrNobody, time.Minute},
		{"alone, for 1 ns less than long", Evidence{Held: time.Minute - 1}, held, ErrNobody, 1},
		{"alone, for long", Evidence{Held: time.Minute}, followed, ErrHeldLong, 0},
		{"alone, the kernel synchronised", Evidence{Synchronised: true}, followed, ErrKernel, 0},

		{"who else there is is not known", Evidence{Unlisted: true}, held, ErrUnlisted, 0},
		{"for long", Evidence{Unlisted: true, Held: 24 * hr}, held, ErrUnlisted, 0},
		{"the kernel synchronised", Evidence{Unlisted: true, Synchronised: true}, held, ErrUnlisted, 0},

		{"a person says so", Evidence{Trusted: now, Members: members(hr)}, followed, ErrTrusted, 0},
		{"within a window", Evidence{Trusted: now - int64(window), Unlisted: true}, followed, ErrTrusted, 0},
		{"long ago", Evidence{Trusted: now - int64(window) - 1, Members: members(hr)}, held, ErrAheadOf, 0},
		{"of a time to come", Evidence{Trusted: now + int64(window) + 1, Members: members(hr)}, held, ErrAheadOf, 0},
		{"a start, a person says so", Evidence{Start: true, Trusted: now - 1, Members: members(hr)}, followed, ErrTrusted, 0},

		{"a member has come as far", Evidence{Members: members(0)}, followed, ErrMembers, 0},
		{"to within a window", Evidence{Members: members(window)}, followed, ErrMembers, 0},
		{"not quite", Evidence{Members: members(window + 1)}, held, ErrAheadOf, 0},
		{"further, by a window", Evidence{Members: members(-window)}, followed, ErrMembers, 0},
		{"by more: its clock is another one", Evidence{Members: members(-window - 1)}, held, ErrAheadOf, 0},
		{"one of three", Evidence{Members: members(hr, 0, hr)}, followed, ErrMembers, 0},
		{"none of three", Evidence{Members: members(hr, 2*hr, hr)}, held, ErrAheadOf, 0},
		{"none, for long", Evidence{Members: members(hr), Held: 24 * hr}, held, ErrAheadOf, 0},
		{"none, the kernel synchronised", Evidence{Members: members(hr), Synchronised: true}, held, ErrAheadOf, 0},
		{"a member that has published nothing", Evidence{Members: members(silent), Synchronised: true, Held: hr}, held, ErrAheadOf, 0},

		{"a start, alone", Evidence{Start: true}, followed, ErrNoEarlier, 0},
		{"a start, who else there is is not known", Evidence{Start: true, Unlisted: true}, held, ErrUnlisted, 0},
		{"a start, a member to within a window", Evidence{Start: true, Members: members(hr, window)}, followed, ErrMembers, 0},
		{"a start ahead of all", Evidence{Start: true, Members: members(hr, 2*hr), Synchronised: true}, held, ErrAheadOf, 0},
		{"a start behind all", Evidence{Start: true, Members: members(-hr)}, followed, ErrNoEarlier, 0},
		{"a start ahead of one that is right, one is wrong", Evidence{Start: true, Members: members(hr, -hr)}, held, ErrAheadOf, 0},
		{"a start, and nobody has published anything", Evidence{Start: true, Members: members(silent, silent)}, followed, ErrNoEarlier, 0},
		{"a start at the end of all times", Evidence{Wall: math.MaxInt64, Start: true, Members: members(hr)}, held, ErrAheadOf, 0},
		{"a start at their beginning", Evidence{Wall: math.MinInt64, Start: true, Members: members(hr)}, followed, ErrNoEarlier, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.e.Window = window; tt.e.Wall == 0 {
				tt.e.Wall = now
			}
			want := Conclusion{Followed: tt.want, Why: tt.why, For: tt.for_}
			if got := DefaultBelief().Decide(tt.e); got != want {
				t.Errorf("followed %v, or held for %v (%v), want %v, %v (%v)", got.Followed, got.For, got.Why, want.Followed, want.For, want.Why)
			}
			trusting := DefaultBelief()
			trusting.Trust = true
			if got := trusting.Decide(tt.e); !got.Followed || !errors.Is(got.Why, ErrTrusted) {
				t.Errorf("trusting: followed %v (%v)", got.Followed, got.Why)
			}
		})
	}
}

// A start is held from a time that a member has come to, and never from one ahead of the clock.
func TestTheNewestTimeIsBeforeTheClock(t *testing.T) {
	for _, tt := range []struct {
		members []int64
		want    int64
	}{
		{nil, 0}, {members(silent), 0}, {members(3*hr, hr, 2*hr), now - int64(hr)}, {members(hr, -hr), now - int64(hr)}, {members(-hr, 0), 0},
	} {
		if got := (Evidence{Wall: now, Members: tt.members}).Newest(); got != tt.want {
			t.Errorf("of %v the newest is %d, want %d", tt.members, got, tt.want)
		}
	}
}

// What is held for a while only comes to an end: no evidence that lasts is held longer than it
// says.
func TestAHoldLastsAsLongAsItSays(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := DefaultBelief()
		e := Evidence{
			Wall:         now,
			Held:         time.Duration(rapid.Int64Range(0, int64(2*time.Minute)).Draw(t, "held")),
			Unlisted:     rapid.Bool().Draw(t, "unlisted"),
			Synchronised: rapid.Bool().Draw(t, "synchronised"),
		}
		for range rapid.IntRange(0, 2).Draw(t, "members") {
			e.Members = append(e.Members, members(time.Duration(rapid.Int64Range(-int64(hr), int64(hr)).Draw(t, "behind")))...)
		}
		c := b.Decide(e)
		if c.For < 0 || c.For > b.ForwardHold || c.Followed && c.For != 0 {
			t.Fatalf("followed %v, or held for %v", c.Followed, c.For)
		}
		if c.For > 0 {
			if e.Held += c.For; !b.Decide(e).Followed {
				t.Fatalf("still held after %v", c.For)
			}
		}
	})
}

func TestBeliefCheck(t *testing.T) {
	for hold, right := range map[time.Duration]bool{-1: false, 0: true, DefaultForwardHold: true, mostHold: true, mostHold + 1: false} {
		var wrong []string
		Belief{ForwardHold: hold}.Check(func(flag, _ string, _ ...any) { wrong = append(wrong, flag) })
		if right != (len(wrong) == 0) || !right && wrong[0] != "forward-hold" {
			t.Errorf("%v: %v", hold, wrong)
		}
	}
}
