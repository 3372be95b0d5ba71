package lifecycle_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/internal/must"
)

// true are servers whose clocks are right, each known within a millisecond, while the clock of the
// daemon is ahead.
func (h *hands) right(servers int) []coord.ServerClock {
	now := h.Now()
	one := coord.ServerClock{Time: time.Unix(0, now.Wall-int64(h.ahead)), Error: time.Millisecond}
	return slices.Repeat([]coord.ServerClock{one}, servers)
}

// agreeing are servers whose clocks show what the daemon's does.
func (h *hands) agreeing(servers int) []coord.ServerClock {
	one := coord.ServerClock{Time: time.Unix(0, h.Now().Wall), Error: time.Millisecond}
	return slices.Repeat([]coord.ServerClock{one}, servers)
}

// notified counts what requests are told of.
type notified struct{ checked, changed int }

func (n *notified) Check()   { n.checked++ }
func (n *notified) Changed() { n.changed++ }

// joined is one that has joined a coordinator with such servers, by a clock that was right then.
func joined(t *testing.T, clock *hands, clocks func() []coord.ServerClock) (*lifecycle.Lifecycle, *office) {
	t.Helper()
	o := &office{}
	l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
	must.Get(l.Join(t.Context(), nil))(t)
	o.clocks = clocks
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

func TestAStepAheadIsFollowedOnceItIsConfirmed(t *testing.T) {
	for _, tt := range []struct {
		name   string
		clocks func(*hands) []coord.ServerClock
		trust  bool
		after  time.Duration // when it has been followed
		not    time.Duration // when it has not yet been
	}{
		{name: "three servers agree", clocks: func(h *hands) []coord.ServerClock { return h.agreeing(3) }, after: time.Second},
		{name: "two of three agree", clocks: func(h *hands) []coord.ServerClock { return append(h.agreeing(2), h.right(1)...) }, after: time.Second},
		{name: "three servers disagree", clocks: func(h *hands) []coord.ServerClock { return h.right(3) }, not: 24 * time.Hour},
		{name: "two of three disagree", clocks: func(h *hands) []coord.ServerClock { return append(h.agreeing(1), h.right(2)...) }, not: time.Hour},
		{name: "nobody answers", clocks: func(*hands) []coord.ServerClock { return []coord.ServerClock{{Err: errBusy}} }, not: 59 * time.Second, after: 61 * time.Second},
		{name: "nobody can be asked", clocks: func(*hands) []coord.ServerClock { return nil }, not: 59 * time.Second, after: 61 * time.Second},
		{name: "they disagree, and the clock is trusted", clocks: func(h *hands) []coord.ServerClock { return h.right(3) }, trust: true, after: time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := &hands{}
			l, _ := joined(t, clock, func() []coord.ServerClock { return tt.clocks(clock) })
			l.Holders[0].NotJoined(nil) // nothing is the matter with the coordinator
			l.Belief.Trust = tt.trust
			if tt.not > 0 {
				if ahead, of := settle(t, l, clock, time.Hour, tt.not); ahead != 0 || of.checked > 0 {
					t.Errorf("known time is ahead by %v after %v", ahead, tt.not)
				}
			} else {
				clock.ahead += time.Hour
			}
			if tt.after > 0 {
				if ahead, of := settle(t, l, clock, 0, tt.after-tt.not); ahead != time.Hour || of.checked != 1 || of.changed != 1 {
					t.Errorf("known time is ahead by %v after %v, and requests were told %+v", ahead, tt.after, *of)
				}
			}
		})
	}
}

// Members have published by their own known time; a step that most of them have made is followed.
func TestAStepAheadThatMostMembersHaveMadeIsFollowed(t *testing.T) {
	for _, tt := range []struct {
		name  string
		marks []time.Duration // ahead of the time before the step
		lanes int             // of the last: more than one
		want  time.Duration
	}{
		{name: "none"},
		{name: "one that has", marks: []time.Duration{time.Hour}, want: time.Hour},
		{name: "one that has, 15 s ago", marks: []time.Duration{time.Hour - 15*time.Second}, want: time.Hour},
		{name: "one that has not", marks: []time.Duration{0}},
		{name: "one of two", marks: []time.Duration{0, time.Hour}},
		{name: "two of three", marks: []time.Duration{0, time.Hour, time.Hour}, want: time.Hour},
		{name: "one of two, with three lanes", marks: []time.Duration{0, time.Hour}, lanes: 3},
		{name: "two of three, and the other has three lanes", marks: []time.Duration{time.Hour, time.Hour, 0}, lanes: 3, want: time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := &hands{}
			l, o := joined(t, clock, nil)
			for i, ahead := range tt.marks {
				at := l.Layout.TickAt(clock.Now().Wall + int64(ahead+time.Second)) // a journal's step beyond its time
				o.members = append(o.members, coord.Member{Worker: i, Incarnation: strconv.Itoa(i), Claim: "other", Opening: "other", Mark: at, Ceiling: at + l.Holders[0].Window()})
			}
			for range tt.lanes - 1 {
				o.members = append(o.members, o.members[len(o.members)-1])
			}
			if ahead, _ := settle(t, l, clock, time.Hour, 3*time.Second); ahead != tt.want {
				t.Errorf("known time is ahead by %v, want %v", ahead, tt.want)
			}
		})
	}
}

// While a step is held, its witnesses are asked at once, and ever more rarely.
func TestWitnessesAreAskedEverMoreRarely(t *testing.T) {
	clock, asked := &hands{}, 0
	l, _ := joined(t, clock, func() []coord.ServerClock { asked++; return clock.right(1) })
	settle(t, l, clock, time.Hour, 5*time.Second)
	if asked < 3 || asked > 6 {
		t.Errorf("asked %d times in 5 s", asked)
	}
	settle(t, l, clock, 0, time.Hour)
	asked = 0
	if settle(t, l, clock, 0, time.Hour); asked != 240 {
		t.Errorf("asked %d times in the second hour, want once in 15 s", asked)
	}
}

func TestAStartWhoseClockIsAheadIsNotReadyUntilItIsRight(t *testing.T) {
	for _, tt := range []struct {
		name    string
		servers int
		members int // that are right
		lone    bool
	}{
		{name: "three servers", servers: 3},
		{name: "one server, three members", servers: 1, members: 3},
		{name: "one server, nobody else", servers: 1, lone: true},
		{name: "nobody", lone: true},
	} {
		for _, ahead := range []time.Duration{time.Hour, 60 * 365 * 24 * time.Hour} {
			t.Run(tt.name, func(t *testing.T) {
				clock, o := &hands{ahead: ahead}, &office{}
				begun := time.Unix(0, clock.Now().Wall-int64(ahead)).UTC().Format(time.RFC3339)
				o.clocks = func() []coord.ServerClock { return clock.right(tt.servers) }
				l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
				for i := range tt.members {
					at := l.Layout.TickAt(clock.Now().Wall - int64(ahead-time.Second))
					o.members = append(o.members, coord.Member{Worker: i, Claim: "other", Opening: "other", Mark: at, Ceiling: at + l.Holders[0].Window()})
				}
				corrected := 30 * time.Second
				clock.each = func() {
					if clock.mono >= corrected {
						clock.ahead = 0
						l.Clock.Observe()
						return
					}
					var notReady *lifecycle.ClockAheadError
					condition := l.Holders[0].Condition()
					if !errors.As(condition, &notReady) || notReady.Of != tt.servers || !strings.Contains(condition.Error(), ahead.String()+" ahead") {
						t.Errorf("condition: %v", condition)
						return
					}
					if !strings.HasPrefix(condition.Error(), "since "+strings.TrimSuffix(begun, "Z")+".000Z ") {
						t.Errorf("condition: %v, want it since %s, by the servers' clocks", condition, begun)
					}
				}
				must.Get(l.Join(t.Context(), nil))(t)
				if tt.lone {
					if clock.mono != 0 {
						t.Errorf("nobody can tell, and the start took %v", clock.mono)
					}
					return
				}
				if took := clock.mono - corrected; took < 0 || took > 5*time.Second {
					t.Errorf("ready %v after the clock was put right", took)
				}
				// From here on the time is known.
				if ahead, _ := settle(t, l, clock, time.Hour, time.Minute); ahead != 0 {
					t.Errorf("ahead by %v after a step in which the servers do not believe", ahead)
				}
			})
		}
	}
}

// booted is a kernel that knows how long ago the machine was booted, and nothing else.
type booted struct{ clock *hands }

func (b booted) Boot() int64                         { return int64(b.clock.mono + time.Hour) }
func (b booted) WasSet() bool                        { return false }
func (b booted) Synchronised() (time.Duration, bool) { return 0, false }

// A daemon that is killed in a hold goes on in that hold, whatever its clock shows by then, and
// asks nobody. After a boot its clock counts, as nothing else does.
func TestARestartInAHoldIsNoWayAroundIt(t *testing.T) {
	for _, tt := range []struct {
		name string
		host place.Host
		sure bool // that the time before the step was confirmed
		want time.Duration
	}{
		{"the same boot", one, true, 0},
		{"the same boot, and nobody has confirmed its time", one, false, 0},
		{"another boot", place.Host{Boot: "boot 2", Machine: one.Machine}, true, time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			clock := &hands{}
			path := filepath.Join(t.TempDir(), "state")
			dir := must.Get(journal.OpenDir(path, one))(t)
			first, _, _ := lanes(t, clock, &office{})
			f := must.Get(dir.Lane(0))(t)
			held := clockguard.NewKnown(clock, booted{clock}, clockguard.DefaultBelief())
			if tt.sure {
				held.Confirm(held.Shown())
			}
			k := grant.New(grant.Config{
				Layout: first.Layout, Coord: "there", Timing: grant.Timing{Window: time.Minute, Publish: time.Second, Step: time.Second},
				Clock: held, Kept: held.Kept, Journal: f, Log: hclog.NewNullLogger(),
			}, nowhere{})
			if err := k.Inherit(journal.Contents{
				Cluster: "the cluster", Coord: "there", Layout: k.LayoutText(),
				Lanes: []journal.Entry{{Worker: 7, Opening: "opening", Claim: "claim", Mark: 1, Ceiling: first.Layout.TickAt(clock.Now().Wall) + 60_000}},
			}); err != nil {
				t.Fatal(err)
			}
			clock.ahead = time.Hour
			if err := k.ColdStart(journal.Contents{Coord: "there", Lanes: []journal.Entry{{Worker: 7, Opening: "opening"}}}); err != nil {
				t.Fatal(err) // which writes the journal
			}
			must.Do(t, dir.Close())

			clock.mono += time.Second
			dir = must.Get(journal.OpenDir(path, tt.host))(t)
			t.Cleanup(func() { dir.Close() })
			l, _, _ := lanes(t, clock, &office{clocks: func() []coord.ServerClock { return clock.right(3) }})
			l.Clock = clockguard.NewKnown(clock, booted{clock}, clockguard.DefaultBelief())
			must.Get(l.Inherit(dir))(t)
			if got := time.Duration(l.Clock.Now().Wall-clock.Now().Wall) + clock.ahead; got != tt.want {
				t.Errorf("known time is ahead by %v, want %v", got, tt.want)
			}
			if tt.want > 0 {
				return
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			clock.each = cancel // it is not to wait
			must.Get(l.Join(ctx, nil))(t)
			if waited := clock.mono > time.Second; waited == tt.sure {
				t.Errorf("the start has waited for a clock that is right: %v", waited)
			}
		})
	}
}

// What the servers confirm is the time that they were asked about, and not what the clock shows by
// the time that they have answered, or later.
func TestAStepDuringAStartIsNotConfirmedWithIt(t *testing.T) {
	const year = 365 * 24 * time.Hour
	clock, o := &hands{}, &office{}
	o.clocks = func() []coord.ServerClock {
		right := clock.right(3)
		if clock.mono == 0 {
			clock.ahead = year
		}
		return right
	}
	l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
	clock.each = func() {
		if clock.mono >= 10*time.Second {
			clock.ahead = 0
		}
	}
	must.Get(l.Join(t.Context(), nil))(t)
	clock.ahead = year
	if got := time.Duration(l.Clock.Now().Wall - clock.Now().Wall); got != -year {
		t.Errorf("known time is ahead by %v", got+year)
	}
}

// A raise, or a record that is ahead, has a daemon wait for a floor. It has not come as far.
func TestAFloorThatMembersWaitForIsNotTheirTime(t *testing.T) {
	for _, tt := range []struct{ floor, step time.Duration }{
		{10 * time.Second, 10 * time.Second}, {time.Minute, time.Minute}, {time.Hour, time.Hour}, {time.Hour, 59 * time.Minute},
	} {
		clock := &hands{}
		l, o := joined(t, clock, func() []coord.ServerClock { return clock.right(3) })
		now, window := clock.Now().Wall, l.Holders[0].Window()
		at := l.Layout.TickAt(now + int64(tt.floor))
		for i := range 3 {
			o.members = append(o.members, coord.Member{
				Worker: i, Claim: "other", Opening: "other", Mark: at, Issued: at, Ceiling: max(at, l.Layout.TickAt(now)+window),
			})
		}
		if ahead, _ := settle(t, l, clock, tt.step, 3*time.Second); ahead != 0 {
			t.Errorf("a floor that is %v ahead, where three members wait: known time is ahead by %v", tt.floor, ahead)
		}
	}
}

// What the cluster is shown of a clock begins and ends with the hold.
func TestAHeldClockIsShownToTheCluster(t *testing.T) {
	clock := &hands{}
	l, _ := joined(t, clock, func() []coord.ServerClock { return clock.right(3) })
	if got := lifecycle.HoldOf(l.Clock); got != (coord.Hold{}) {
		t.Errorf("a clock that is believed is shown as %+v", got)
	}
	since := time.Unix(0, l.Clock.Now().Wall)
	settle(t, l, clock, time.Hour, time.Minute)
	got := lifecycle.HoldOf(l.Clock)
	if got.Ahead != time.Hour || got.Since.Sub(since).Abs() > time.Second || got.Why != clockguard.ErrContradict.Error() {
		t.Errorf("a clock that is an hour ahead since %v is shown as %+v", since, got)
	}
	clock.ahead = 0
	l.Clock.Observe()
	if got := lifecycle.HoldOf(l.Clock); got != (coord.Hold{}) {
		t.Errorf("a clock that is right again is shown as %+v", got)
	}
}
