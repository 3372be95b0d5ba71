package lifecycle_test

import (
	"context"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/internal/must"
)

// others are members on other hosts. Each has come so far beyond the true time.
func (h *hands) others(l *lifecycle.Lifecycle, ahead ...time.Duration) (members []coord.Member) {
	for i, d := range ahead {
		at := l.Layout.TickAt(h.Now().Wall - int64(h.ahead) + int64(d))
		members = append(members, coord.Member{Worker: i, Claim: "other", Opening: "other", Time: at})
	}
	return members
}

// notified counts what requests are told of.
type notified struct{ checked, changed int }

func (n *notified) Check()   { n.checked++ }
func (n *notified) Changed() { n.changed++ }

// joined is one that has joined by a clock that was right then. There are other members since, who
// have come so far beyond the true time.
func joined(t *testing.T, clock *hands, ahead ...time.Duration) (*lifecycle.Lifecycle, *office) {
	t.Helper()
	o := &office{}
	l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
	must.Get(l.Join(t.Context()))(t)
	o.listed, o.members = 0, func() []coord.Member { return clock.others(l, ahead...) }
	return l, o
}

// settle steps the clock, and lets Settle run for so long.
func settle(t *testing.T, l *lifecycle.Lifecycle, clock *hands, step, d time.Duration) (knownAhead time.Duration, of *notified) {
	t.Helper()
	of = &notified{}
	clock.ahead += step
	l.Clock.Observe()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	begun := clock.mono
	clock.slept, clock.last = nil, 0
	clock.each = func() {
		l.Clock.Observe()
		if clock.mono-begun >= d {
			cancel()
		}
	}
	l.Settle(ctx, of)
	return time.Duration(l.Clock.Now().Wall-clock.Now().Wall) + clock.ahead, of
}

// The window of these is a minute.
func TestAStepAheadIsFollowedOnceItIsConfirmed(t *testing.T) {
	const decade = 10 * 365 * 24 * time.Hour
	for _, tt := range []struct {
		name         string
		step         time.Duration
		others       []time.Duration
		synchronised bool
		hidden       int
		trust        bool
		not          time.Duration // when it has not been followed yet
		after        time.Duration // when it has
	}{
		{name: "one of three has", step: decade, others: []time.Duration{0, 0, decade}, after: time.Second},
		{name: "one has come within a window", step: decade, others: []time.Duration{0, decade - time.Minute}, after: time.Second},
		{name: "and not quite", step: decade, others: []time.Duration{0, decade - time.Minute - time.Second}, not: 24 * time.Hour},
		{name: "a small step", step: 30 * time.Second, others: []time.Duration{0, 0}, after: time.Second},
		{name: "none has", step: decade, others: []time.Duration{0, 0}, not: 24 * time.Hour},
		{name: "none has, and the kernel calls it synchronised", step: decade, others: []time.Duration{0}, synchronised: true, not: time.Hour},
		{name: "none has, and it is trusted", step: decade, others: []time.Duration{0}, trust: true, after: time.Second},
		{name: "who else there is is not known", step: decade, hidden: 1e6, synchronised: true, not: time.Hour},
		{name: "alone", step: decade, not: 59 * time.Second, after: 61 * time.Second},
		{name: "alone, and the kernel calls it synchronised", step: decade, synchronised: true, after: time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := &hands{}
			l, o := joined(t, clock, tt.others...)
			l.Clock = clockguard.NewKnown(clock, booted{clock: clock, synchronised: tt.synchronised}, clockguard.DefaultBelief())
			l.Belief.Trust, o.hidden = tt.trust, tt.hidden
			if tt.not > 0 {
				if ahead, of := settle(t, l, clock, tt.step, tt.not); ahead != 0 || of.checked > 0 {
					t.Errorf("known time is ahead by %v after %v", ahead, tt.not)
				}
			} else {
				clock.ahead += tt.step
			}
			if tt.after > 0 {
				if ahead, of := settle(t, l, clock, 0, tt.after-tt.not); ahead != tt.step || of.checked != 1 || of.changed != 1 {
					t.Errorf("known time is ahead by %v after %v, and requests were told %+v", ahead, tt.after, *of)
				}
			}
		})
	}
}

// All clocks of a cluster were set ahead, and a person says that they are right.
func TestAStepIsFollowedOnceAPersonSaysWhatTimeItIs(t *testing.T) {
	clock := &hands{}
	l, o := joined(t, clock, 0, 0)
	if ahead, _ := settle(t, l, clock, time.Hour, time.Minute); ahead != 0 {
		t.Errorf("known time is ahead by %v, and nobody has said that it is right", ahead)
	}
	o.trusted = l.Layout.TickAt(clock.Now().Wall)
	if ahead, _ := settle(t, l, clock, 0, 15*time.Second); ahead != time.Hour {
		t.Errorf("known time is ahead by %v, and a person has said that it is an hour", ahead)
	}
	if ahead, _ := settle(t, l, clock, time.Hour, time.Minute); ahead != time.Hour {
		t.Errorf("known time is ahead by %v after another step", ahead)
	}
}

// The other members are started again. One who is held looks just then, and finds nobody.
func TestAStepIsNotFollowedWhileTheOthersStart(t *testing.T) {
	const leave, again = 10 * time.Minute, 40 * time.Second
	for _, tt := range []struct {
		synchronised, stay bool // away
		want               time.Duration
	}{{}, {synchronised: true}, {stay: true, want: time.Hour}, {synchronised: true, stay: true, want: time.Hour}} {
		clock := &hands{}
		l, o := joined(t, clock, 0, 0)
		l.Clock = clockguard.NewKnown(clock, booted{clock: clock, synchronised: tt.synchronised}, clockguard.DefaultBelief())
		others, begun := o.members, clock.mono
		o.members = func() []coord.Member {
			if at := clock.mono - begun; at > leave && (tt.stay || at < leave+again) {
				return nil
			}
			return others()
		}
		if ahead, _ := settle(t, l, clock, time.Hour, leave+2*time.Minute); ahead != tt.want {
			t.Errorf("%+v: known time is ahead by %v", tt, ahead)
		}
	}
}

// A clock that is ten years ahead for five seconds leaves no trace.
func TestAStepThatIsTakenBackIsNotFollowed(t *testing.T) {
	const decade = 10 * 365 * 24 * time.Hour
	for name, others := range map[string][]time.Duration{"alone": nil, "one of three": {0, 0}, "all": {0, 0}} {
		clock := &hands{}
		l, _ := joined(t, clock, others...)
		for _, step := range []time.Duration{decade, -decade} {
			if ahead, of := settle(t, l, clock, step, 5*time.Second); ahead != 0 || of.checked > 0 {
				t.Errorf("%s, after a step by %v: known time is ahead by %v", name, step, ahead)
			}
		}
	}
}

// Whoever goes by the same clock confirms nothing of it, and has no say. Nor has whoever has opened
// nothing yet: the time of its record is that of the holder before.
func TestAMemberOnTheSameHostIsNoWitness(t *testing.T) {
	for _, tt := range []struct {
		boot, opening string
		followed      bool
	}{
		{boot: "boot", opening: "other"},
		{boot: "other", opening: "other", followed: true},
		{opening: "other", followed: true},
		{boot: "other"},
	} {
		clock := &hands{}
		l, o := joined(t, clock)
		l.Clock = clockguard.NewKnown(clock, booted{clock: clock}, clockguard.DefaultBelief())
		o.members = func() []coord.Member {
			m := clock.others(l, time.Hour)
			m[0].Boot, m[0].Opening = tt.boot, tt.opening
			return m
		}
		if ahead, _ := settle(t, l, clock, time.Hour, 3*time.Second); ahead == time.Hour != tt.followed {
			t.Errorf("a member of boot %q and opening %q: known time is ahead by %v", tt.boot, tt.opening, ahead)
		}
	}
}

// While a step is held, the members are listed at once, and ever more rarely.
func TestMembersAreListedEverMoreRarely(t *testing.T) {
	clock := &hands{}
	l, o := joined(t, clock, 0)
	settle(t, l, clock, time.Hour, 5*time.Second)
	if o.listed < 3 || o.listed > 6 {
		t.Errorf("listed %d times in 5 s", o.listed)
	}
	settle(t, l, clock, 0, time.Hour)
	o.listed = 0
	if settle(t, l, clock, 0, time.Hour); o.listed != 240 {
		t.Errorf("listed %d times in the second hour, want once in 15 s", o.listed)
	}
}

// A start that is ahead serves by the time that the others have come to, and is held from there.
func TestAStartGoesOnFromWhatTheMembersHavePublished(t *testing.T) {
	const year = 365 * 24 * time.Hour
	for _, tt := range []struct {
		name   string
		ahead  time.Duration
		others []time.Duration
		want   time.Duration // of known time
		held   bool
	}{
		{name: "alone", ahead: year, want: year},
		{name: "right", others: []time.Duration{0, -20 * time.Second}},
		{name: "within a window", ahead: time.Minute, others: []time.Duration{0, 0}, want: time.Minute},
		{name: "ahead of all", ahead: 60 * year, others: []time.Duration{-10 * time.Second, -20 * time.Second}, want: -10 * time.Second, held: true},
		{name: "one of the others is as far", ahead: year, others: []time.Duration{0, year}, want: year},
		{name: "the others are ahead", others: []time.Duration{year, year}},
		{name: "one of the others is ahead", ahead: time.Hour, others: []time.Duration{0, year}, held: true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock, o := &hands{ahead: tt.ahead}, &office{}
			l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
			o.members = func() []coord.Member { return clock.others(l, tt.others...) }
			must.Get(l.Join(t.Context()))(t)
			if clock.mono != 0 {
				t.Errorf("the start took %v", clock.mono)
			}
			known := func() time.Duration { return time.Duration(l.Clock.Now().Wall-clock.Now().Wall) + clock.ahead }
			if got := known(); got != tt.want {
				t.Errorf("known time is ahead by %v, want %v", got, tt.want)
			}
			if _, _, held := observed(l.Clock).Holding(); held != tt.held {
				t.Errorf("held %v, want %v", held, tt.held)
			}
			if !tt.held {
				return
			}
			if ahead, _ := settle(t, l, clock, 0, time.Hour); ahead != tt.want {
				t.Errorf("known time is ahead by %v after an hour", ahead)
			}
			clock.ahead = 0
			l.Clock.Observe()
			settle(t, l, clock, 0, 3*time.Second)
			if got := known(); got != 0 {
				t.Errorf("the clock is right again, and known time is ahead by %v", got)
			}
		})
	}
}

// observed is the clock after an observation.
func observed(clock *clockguard.Known) *clockguard.Known {
	clock.Observe()
	return clock
}

// booted is a kernel that knows how long ago the machine was booted.
type booted struct {
	clock        *hands
	synchronised bool
}

func (b booted) Boot() int64                         { return int64(b.clock.mono + time.Hour) }
func (b booted) BootID() string                      { return "boot" }
func (b booted) Synchronised() (time.Duration, bool) { return 0, b.synchronised }

// A daemon that takes over in a hold goes on in that hold, whatever its clock shows by then, and
// asks nobody.
func TestAnUpdateInAHoldIsNoWayAroundIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		sure bool // that the time before the step was confirmed
		want time.Duration
	}{
		{"it was confirmed", true, 0},
		{"nobody has confirmed it", false, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := &hands{}
			before, _ := newLifecycle(t, clock, nil)
			before.Clock = clockguard.NewKnown(clock, booted{clock: clock}, clockguard.DefaultBelief())
			if tt.sure {
				before.Clock.Confirm(before.Clock.Shown())
			}
			clock.ahead = time.Hour
			handed := before.KnownTime()

			clock.mono += time.Second
			o := &office{hidden: 1}
			l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
			o.members = func() []coord.Member { return clock.others(l, 0) }
			l.Clock = clockguard.NewKnown(clock, booted{clock: clock}, clockguard.DefaultBelief())
			l.Resume(handed)
			if got := time.Duration(l.Clock.Now().Wall-clock.Now().Wall) + clock.ahead; got != tt.want {
				t.Errorf("known time is ahead by %v, want %v", got, tt.want)
			}
			if tt.want > 0 {
				return
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			clock.each = cancel // it is not to wait
			must.Get(l.Join(ctx))(t)
			if clock.mono > time.Second {
				t.Error("the start has waited for the members, and knows the time")
			}
		})
	}
}

// What the members confirm is the time that was looked at, and not what the clock shows by the time
// that they are listed, or later.
func TestAStepDuringAStartIsNotConfirmedWithIt(t *testing.T) {
	const year = 365 * 24 * time.Hour
	clock, o := &hands{}, &office{}
	l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
	o.members = func() []coord.Member {
		right := clock.others(l, 0)
		clock.ahead = year
		return right
	}
	must.Get(l.Join(t.Context()))(t)
	if got := time.Duration(l.Clock.Now().Wall - clock.Now().Wall); got != -year {
		t.Errorf("known time is ahead by %v", got+year)
	}
}

// A raise, or a record that is ahead, has a daemon wait for a floor. It has not come as far.
func TestAFloorThatMembersWaitForIsNotTheirTime(t *testing.T) {
	for _, tt := range []struct {
		floor, step time.Duration
	}{
		{10 * time.Second, 65 * time.Second}, {2 * time.Minute, 2 * time.Minute}, {time.Hour, time.Hour}, {time.Hour, 59 * time.Minute},
	} {
		clock := &hands{}
		l, o := joined(t, clock)
		now, window := clock.Now().Wall, l.Holder.Window()
		at, come := l.Layout.TickAt(now+int64(tt.floor)), l.Layout.TickAt(now)
		o.members = func() (all []coord.Member) {
			for i := range 3 {
				all = append(all, coord.Member{Worker: i, Claim: "other", Opening: "other", Ceiling: max(at, come+window), Time: come})
			}
			return all
		}
		if ahead, _ := settle(t, l, clock, tt.step, 3*time.Second); ahead != 0 {
			t.Errorf("a floor that is %v ahead, where three members wait: known time is ahead by %v", tt.floor, ahead)
		}
	}
}
