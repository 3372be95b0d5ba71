package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/internal/must"
)

// watch lets Watch run for so long, with what is logged. Each look is preceded by a call of set.
func watch(t *testing.T, clock *hands, d time.Duration, set func()) (logged []string) {
	t.Helper()
	l, _ := joined(t, clock, 0)
	var out bytes.Buffer
	l.Log = hclog.New(&hclog.LoggerOptions{Output: &out})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	clock.each = func() {
		if set(); clock.mono >= d {
			cancel()
		}
	}
	must.Do(t, l.Watch(ctx, &notified{}))
	return strings.Split(strings.TrimSpace(out.String()), "\n")
}

// Two services that fight over a clock, as a hypervisor's and a guest's, may do so for days.
func TestAClockThatIsFoughtOverFillsNoLog(t *testing.T) {
	const ahead, back = "has stepped ahead and is not believed yet", "is back at what was known"
	clock := &hands{}
	lines := watch(t, clock, time.Hour, func() { clock.ahead = time.Hour - clock.ahead })
	if most := 2 * 6 * 61; len(lines) > most {
		t.Errorf("%d lines in an hour, want at most %d", len(lines), most)
	}
	if len(lines) < 60 || !strings.Contains(lines[0], ahead) || !strings.Contains(lines[1], back) {
		t.Errorf("the first of %d lines are %q", len(lines), lines[:min(2, len(lines))])
	}

	for _, held := range []bool{false, true} {
		clock = &hands{}
		lines = watch(t, clock, 3*time.Minute, func() {
			if clock.ahead = time.Hour - clock.ahead; clock.mono > 30*time.Second {
				clock.ahead = 0
				if held {
					clock.ahead = time.Hour
				}
			}
		})
		if last := lines[len(lines)-1]; strings.Contains(last, ahead) != held || strings.Contains(last, back) == held {
			t.Errorf("held in the end: %v, and the last line is %q", held, last)
		}
	}

	clock = &hands{}
	if lines = watch(t, clock, time.Hour, func() { clock.ahead = 100*time.Millisecond - clock.ahead }); len(lines) > 6*61 {
		t.Errorf("%d lines in an hour of small steps", len(lines))
	}
}

// woken is a clock on which each wait for a signal ends by one, soon.
type woken struct{ *hands }

func (w woken) Pause(ctx context.Context, d time.Duration, _ <-chan struct{}) {
	_ = w.Sleep(ctx, min(d, lifecycle.WatchEvery))
}

func (woken) Await(signal <-chan struct{}) { <-signal }

func (woken) WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, d)
}

// Steps that go on are no reason to list the members all the time.
func TestMembersAreListedAtMostOnceASecond(t *testing.T) {
	for _, back := range []bool{false, true} {
		clock := &hands{}
		l, o := joined(t, clock, 0)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		l.Clock = known(woken{clock})
		clock.ahead = time.Hour
		clock.each = func() {
			if clock.ahead += 2 * time.Second; back {
				clock.ahead = time.Hour - clock.ahead
			}
			l.Clock.Observe()
			if clock.mono >= time.Minute {
				cancel()
			}
		}
		l.Clock.Observe()
		l.Settle(ctx, &notified{})
		if o.listed < 15 || o.listed > 61 {
			t.Errorf("listed %d times in a minute of steps", o.listed)
		}
	}
}

// Settle has said it, where Watch had said enough.
func TestAHoldThatWasSaidEndsWithALine(t *testing.T) {
	for _, said := range []bool{false, true} {
		clock := &hands{}
		l, _ := joined(t, clock, 0)
		clock.ahead = time.Hour
		l.Clock.Observe()
		var out bytes.Buffer
		l.Log = hclog.New(&hclog.LoggerOptions{Output: &out})
		if said {
			settle(t, l, clock, 0, 3*time.Second)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		clock.ahead = 0
		clock.each = func() {
			if clock.mono > 5*time.Second {
				cancel()
			}
		}
		must.Do(t, l.Watch(ctx, &notified{}))
		if got := strings.Count(out.String(), "is back at what was known"); got == 1 != said {
			t.Errorf("said that it is held: %v, and %d times that it is back:\n%s", said, got, &out)
		}
	}
}

// A start waits until the members can be listed, which may take ever longer: there may be some that
// the clock is ahead of.
func TestMembersThatCannotBeListedAreNotNone(t *testing.T) {
	for _, trust := range []bool{false, true} {
		clock, o := &hands{}, &office{hidden: 8}
		l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
		l.Belief.Trust = trust
		clock.each = func() {
			if o.hidden > 0 && !errors.Is(l.Holder.Condition(), errBusy) {
				t.Errorf("condition: %v", l.Holder.Condition())
			}
		}
		must.Get(l.Join(t.Context()))(t)
		if waited := clock.mono > 0; waited == trust {
			t.Errorf("the clock is trusted: %v, and the start has waited for %v", trust, clock.mono)
		}
		if first, last := o.limits[0], o.limits[len(o.limits)-1]; first > 3*time.Second/2 || !trust && (last < 30*time.Second || last > time.Minute) {
			t.Errorf("the listings might take %v", o.limits)
		}
	}
}

// ending ends what it is told by.
type ending struct{ cancel func() }

func (ending) Check()     {}
func (e ending) Changed() { e.cancel() }

// A step that is followed goes beyond the grant until the next one is there. How long a stop has
// lasted is told by the clock that nobody sets.
func TestWhatIsFollowedIsNoStop(t *testing.T) {
	for _, granted := range []time.Duration{500 * time.Millisecond, 3 * time.Second} {
		o := newOutage(t, time.Minute)
		said := o.run(20*time.Second, map[time.Duration]func(){
			10 * time.Second: func() {
				o.ahead += 70 * time.Second
				o.lifecycle.Clock.Observe()
				o.lifecycle.Belief.Trust = true
				ctx, cancel := context.WithCancel(t.Context())
				o.lifecycle.Settle(ctx, ending{cancel})
			},
			10*time.Second + granted: func() { _ = o.holder.Acquire(t.Context(), false) },
		})
		if !strings.Contains(said, "is followed") {
			t.Fatalf("not followed:\n%s", said)
		}
		if stopped := strings.Contains(said, "issuing has stopped"); stopped != (granted > time.Second) {
			t.Errorf("granted %v after the step:\n%s", granted, said)
		}
		_, after, on := strings.Cut(said, "issuing goes on: code=issuing after=")
		if on && !strings.HasPrefix(after, "3") && !strings.HasPrefix(after, "2.9") {
			t.Errorf("granted %v after the step: it has lasted for %s", granted, after)
		}
	}
}
