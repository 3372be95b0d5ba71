package clockguard_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/clockguard/clocktest"
)

const (
	every = 100 * time.Millisecond // between two observations
	year  = 365 * 24 * time.Hour
)

// bench is a Known over clocks that the test moves.
type bench struct {
	*clocktest.Manual
	*clockguard.Known
	boot         int64         // how long the machine was suspended
	late         time.Duration // for how long the process is stopped before it reads the boot clock
	synchronised bool
	begun        time.Time
}

func (b *bench) Boot() int64 {
	b.Advance(b.late)
	return int64(b.Manual.Now().Mono) + b.boot
}

func (b *bench) BootID() string { return "boot" }

func (b *bench) Synchronised() (time.Duration, bool) { return time.Millisecond, b.synchronised }

func newBench() *bench {
	b := &bench{begun: time.Unix(1_700_000_000, 0)}
	b.Manual = clocktest.NewManual(b.begun)
	b.Known = clockguard.NewKnown(b.Manual, b, clockguard.DefaultBelief())
	return b
}

// ahead is how far known time is ahead of the monotonic clock.
func (b *bench) ahead() time.Duration {
	r := b.Known.Now()
	return time.Duration(r.Wall - b.begun.UnixNano() - int64(r.Mono))
}

// run lets d pass, and observes meanwhile.
func (b *bench) run(d time.Duration) (o clockguard.Observation) {
	for range d / every {
		b.Advance(every)
		if now := b.Observe(); now != (clockguard.Observation{}) {
			o = now
		}
	}
	return o
}

func (b *bench) wants(t *testing.T, ahead time.Duration, why string) {
	t.Helper()
	if got := b.ahead(); got != ahead {
		t.Errorf("%s: known time is ahead by %v, want %v", why, got, ahead)
	}
}

func TestKnownTimeFollowsTheWallClockUpToMaxForward(t *testing.T) {
	for _, tt := range []struct{ step, want time.Duration }{
		{0, 0}, {1, 1}, {time.Second - 1, time.Second - 1}, {time.Second, time.Second}, {time.Second + 1, 0},
		{time.Hour, 0}, {60 * year, 0}, {-1, -1}, {-time.Hour, -time.Hour}, {-50 * year, -50 * year},
	} {
		b := newBench()
		b.Manual.Step(tt.step)
		b.wants(t, tt.want, "at once, after a step of "+tt.step.String())
		b.Observe()
		b.wants(t, tt.want, "observed, after a step of "+tt.step.String())
		if _, _, held := b.Holding(); held != (tt.want != tt.step) {
			t.Errorf("a step of %v: held %v", tt.step, held)
		}
		b.Advance(time.Minute)
		b.wants(t, tt.want, "a minute after a step of "+tt.step.String())
		b.Manual.Step(-tt.step)
		b.wants(t, 0, "after a step of "+tt.step.String()+" was taken back")
		if o := b.Observe(); o.Ended != (tt.want != tt.step) {
			t.Errorf("the end of a step of %v: %+v", tt.step, o)
		}
		b.wants(t, 0, "and observed")
	}
}

func TestObserveFindsSteps(t *testing.T) {
	for _, tt := range []struct {
		name       string
		step, boot time.Duration
		want       clockguard.Observation
	}{
		{name: "none"},
		{name: "ahead within what two readings differ by", step: 25 * time.Millisecond},
		{name: "just beyond", step: 25*time.Millisecond + 1, want: clockguard.Observation{Step: 25*time.Millisecond + 1}},
		{name: "back within it", step: -25 * time.Millisecond},
		{name: "just beyond, back", step: -25*time.Millisecond - 1, want: clockguard.Observation{Step: -25*time.Millisecond - 1}},
		{name: "an hour back", step: -time.Hour, want: clockguard.Observation{Step: -time.Hour}},
		{name: "an hour ahead", step: time.Hour, want: clockguard.Observation{Step: time.Hour, Held: true}},
		{name: "suspended for an hour", step: time.Hour, boot: time.Hour, want: clockguard.Observation{Suspended: time.Hour}},
		{name: "suspended, and a step", step: 2 * time.Hour, boot: time.Hour, want: clockguard.Observation{Suspended: time.Hour, Step: time.Hour, Held: true}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench()
			b.Advance(every)
			b.Manual.Step(tt.step)
			b.boot += int64(tt.boot)
			if got := b.Observe(); got != tt.want {
				t.Errorf("observed %+v, want %+v", got, tt.want)
			}
			if got := b.Observe(); got != (clockguard.Observation{}) {
				t.Errorf("observed again: %+v", got)
			}
			want := clockguard.Steps{}
			if tt.want.Step > 0 {
				want.Ahead = 1
			} else if tt.want.Step < 0 {
				want.Back = 1
			}
			if got := b.Steps(); got != want {
				t.Errorf("counted %+v, want %+v", got, want)
			}
		})
	}
}

func TestASlewIsNoStep(t *testing.T) {
	b := newBench()
	for range 24 * 60 { // 500 ppm for a day
		b.Advance(time.Minute)
		b.Manual.Step(time.Minute / 2000)
		b.Observe()
	}
	b.wants(t, 24*time.Hour/2000, "after a day of slewing")
	if _, _, held := b.Holding(); held {
		t.Error("it was taken for a step")
	}
}

func TestASuspendedMachineIsNoStep(t *testing.T) {
	for _, observed := range []bool{false, true} {
		b := newBench()
		b.run(time.Second)
		b.Manual.Step(time.Hour) // the monotonic clock stood still meanwhile
		b.boot += int64(time.Hour)
		if observed {
			b.Observe()
		}
		b.wants(t, time.Hour, "after an hour of suspension")
		b.run(time.Second)
		b.Manual.Step(time.Hour)
		b.wants(t, time.Hour, "a step of an hour after it")
	}
}

func TestWhatIsConfirmedIsWhatWasShown(t *testing.T) {
	b := newBench()
	b.Manual.Step(time.Hour)
	shown := b.Shown()
	b.wants(t, 0, "shown, but not confirmed")
	b.Manual.Step(year)
	b.Confirm(shown)
	b.wants(t, time.Hour, "a step after what is confirmed was shown")
	b.Manual.Step(-year)
	b.wants(t, time.Hour, "and back from it")
}

// The process may be stopped between any two readings.
func TestAStoppedProcessIsNoSuspendedMachine(t *testing.T) {
	for _, observed := range []bool{false, true} {
		b := newBench()
		b.run(time.Second)
		b.late = time.Hour
		if observed {
			b.Observe()
		}
		b.Manual.Step(59 * time.Minute)
		b.wants(t, 0, "after a step of less than the process was stopped for")
		b.late = 0
		b.run(time.Second)
		b.wants(t, 0, "and observed")
	}
	b := &bench{begun: time.Unix(1_700_000_000, 0), late: time.Hour}
	b.Manual = clocktest.NewManual(b.begun)
	b.Known = clockguard.NewKnown(b.Manual, b, clockguard.DefaultBelief())
	b.late = 0
	b.Manual.Step(59 * time.Minute)
	b.wants(t, 0, "stopped at the start, and a step of less")
}

// Clocks of virtual machines are set by a little again and again. That must not begin the hold
// anew, or it would never end by itself.
func TestSmallStepsDoNotProlongAHold(t *testing.T) {
	b := newBench()
	b.Manual.Step(time.Hour)
	b.run(time.Second)
	first, _, _ := b.Holding()
	for i := range 60 {
		b.Manual.Step([]time.Duration{40 * time.Millisecond, -40 * time.Millisecond}[i%2])
		if o := b.run(time.Second); o.Held {
			t.Fatalf("small step %d began another hold: %+v", i, o)
		}
	}
	if h, _, _ := b.Holding(); h.Since != first.Since {
		t.Errorf("held since %v, and after small steps since %v", first.Since, h.Since)
	}
	for range 30 {
		b.Manual.Step(40 * time.Millisecond)
		b.run(every)
	}
	if h, _, _ := b.Holding(); h.Since == first.Since {
		t.Error("small steps do not add up to another one")
	}
}

// The two halves of a reading may lie apart: its wall clock is then behind.
func TestOneLateReadingIsNoStepBack(t *testing.T) {
	b := newBench()
	b.Manual.Step(-time.Millisecond)
	b.run(clockguard.DefaultForwardHold)
	b.Manual.Step(-time.Hour)
	b.run(every)
	b.Manual.Step(time.Hour)
	b.wants(t, -time.Millisecond, "after the late reading")
	if o := b.run(time.Second); o.Held {
		t.Errorf("the clock came back, and is held: %+v", o)
	}
}

func TestAHoldGoesOnByTheMonotonicClock(t *testing.T) {
	b := newBench()
	b.Manual.Step(300 * time.Millisecond)
	b.run(10 * time.Second)
	b.Manual.Step(time.Hour)
	if o := b.run(10 * time.Second); !o.Held || o.Step != time.Hour {
		t.Errorf("observed %+v", o)
	}
	b.wants(t, 300*time.Millisecond, "held for 10 s")
	h, wall, held := b.Holding()
	if !held || h.Ahead != time.Hour || wall != b.Manual.Now().Wall {
		t.Errorf("held %v: %+v, the wall clock at %v", held, h, time.Unix(0, wall))
	}
}

func TestAHoldEndsWithAVerdictOnIt(t *testing.T) {
	b := newBench()
	b.Manual.Step(time.Hour)
	b.run(time.Second)
	h, _, _ := b.Holding()
	if !b.Conclude(h, clockguard.Conclusion{Why: clockguard.ErrNobody}) {
		t.Error("the hold that was concluded about is there no more")
	}
	b.wants(t, 0, "held")
	b.Manual.Step(year)
	b.run(time.Second)
	if b.Conclude(h, clockguard.Conclusion{Followed: true}) {
		t.Error("a verdict on an hour was taken for one on a year")
	}
	b.wants(t, 0, "another step came on top")
	if h, _, _ := b.Holding(); h.Conclusion.Why != clockguard.ErrNobody {
		t.Errorf("until the next verdict there is the last one: %v", h.Conclusion.Why)
	}
	h, _, _ = b.Holding()
	if !b.Conclude(h, clockguard.Conclusion{Followed: true}) {
		t.Error("not followed")
	}
	b.wants(t, time.Hour+year, "followed")
	if _, _, held := b.Holding(); held {
		t.Error("still held")
	}
	b.Manual.Step(time.Second + 1)
	b.wants(t, time.Hour+year, "the next step is counted from there")
}

// A step back is followed at once, and for as long as a hold lasts the clock may come back from it.
func TestAClockMayComeBackFromAStepBack(t *testing.T) {
	b := newBench()
	b.Manual.Step(-time.Hour)
	b.run(30 * time.Second)
	b.Manual.Step(time.Hour)
	b.wants(t, 0, "back after 30 s")
	b.run(time.Second)
	b.Manual.Step(-time.Hour)
	b.run(2 * time.Minute)
	b.Manual.Step(time.Hour)
	b.wants(t, -time.Hour, "back after two minutes")
}

func TestARestartWithinABootGoesOnFromWhatWasKnown(t *testing.T) {
	for _, tt := range []struct {
		name        string
		step        time.Duration // between the two processes
		down        time.Duration
		want        time.Duration
		reboot      bool
		suspendedOn time.Duration
	}{
		{name: "the clock is right", down: 10 * time.Second},
		{name: "a second ahead", down: 10 * time.Second, step: time.Second, want: time.Second},
		{name: "an hour ahead", down: 10 * time.Second, step: time.Hour},
		{name: "an hour back", down: 10 * time.Second, step: -time.Hour, want: -time.Hour},
		{name: "slewed for an hour", down: time.Hour, step: time.Hour/2000 + time.Second, want: time.Hour/2000 + time.Second},
		{name: "suspended meanwhile", down: time.Second, step: time.Hour, suspendedOn: time.Hour, want: time.Hour},
		{name: "booted meanwhile", down: time.Second, step: time.Hour, reboot: true, want: time.Hour},
	} {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench()
			b.boot = int64(5 * time.Minute)
			b.Confirm(b.Shown())
			known, boot := b.Known.Kept()
			b.Advance(tt.down)
			b.Manual.Step(tt.step)
			b.boot += int64(tt.suspendedOn)
			if tt.reboot {
				b.boot = 0
			}
			b.Known = clockguard.NewKnown(b.Manual, b, clockguard.DefaultBelief())
			b.Resume(known, boot)
			b.wants(t, tt.want, "at the start")
			b.run(time.Second)
			b.wants(t, tt.want, "a second later")
		})
	}
}

// A clock that steps by less than is believed, and a restart, again and again, are no way ahead.
func TestSmallStepsDoNotAddUpOverRestarts(t *testing.T) {
	b := newBench()
	b.boot = int64(5 * time.Minute)
	b.Confirm(b.Shown())
	for range 20 {
		b.Manual.Step(900 * time.Millisecond)
		b.run(time.Second)
		known, boot := b.Known.Kept()
		b.Known = clockguard.NewKnown(b.Manual, b, clockguard.DefaultBelief())
		b.Resume(known, boot)
	}
	if ahead := b.ahead(); ahead > clockguard.MaxForward+20*time.Millisecond {
		t.Errorf("known time is ahead by %v", ahead)
	}
}

// Whatever the wall clock does, known time is never ahead of both the wall clock and the last known
// time moved on, and never further ahead than is believed.
func TestKnownTimeIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := newBench()
		steps := rapid.SliceOfN(rapid.Int64Range(int64(-2*time.Hour), int64(2*time.Hour)), 1, 40).Draw(t, "steps")
		for _, step := range steps {
			if rapid.Bool().Draw(t, "small") {
				step /= 7200
			}
			b.Manual.Step(time.Duration(step))
			b.run(time.Duration(rapid.IntRange(0, 30).Draw(t, "observations")) * every)
			passed := time.Duration(b.Manual.Now().Mono)
			if most := time.Second + passed/2000; b.ahead() > most {
				t.Fatalf("known time is ahead by %v, more than %v", b.ahead(), most)
			}
			if b.Known.Now().Wall > b.Manual.Now().Wall {
				t.Fatalf("known time is ahead of the wall clock by %v", time.Duration(b.Known.Now().Wall-b.Manual.Now().Wall))
			}
		}
	})
}

// By Belief.Strict known time is what it would be without, but never less than what it was before
// plus half of what has passed since, also over an update.
func TestStrictKnownTimeNeverGoesBack(t *testing.T) {
	strictly := clockguard.DefaultBelief()
	strictly.Strict = true
	rapid.Check(t, func(t *rapid.T) {
		b := newBench()
		b.boot = int64(time.Hour)
		strict := clockguard.NewKnown(b.Manual, b, strictly)
		b.Manual.Step(time.Duration(rapid.Int64Range(0, int64(time.Second)).Draw(t, "until it is confirmed")))
		strict.Now()
		b.Confirm(b.Shown())
		strict.Confirm(b.Shown())
		last := strict.Now()
		t.Repeat(map[string]func(*rapid.T){
			"step": func(t *rapid.T) {
				b.Manual.Step(time.Duration(rapid.Int64Range(int64(-2*time.Minute), int64(time.Minute)).Draw(t, "step")))
			},
			"run": func(t *rapid.T) {
				for range rapid.IntRange(1, 1000).Draw(t, "observations") {
					b.Advance(every)
					b.Observe()
					strict.Observe()
				}
			},
			"update": func(t *rapid.T) {
				known, boot := strict.Kept()
				before := strict
				strict = clockguard.NewKnown(b.Manual, b, strictly)
				if !strict.Resume(known, boot) {
					t.Fatal("an update does not go on from the time that was handed over")
				}
				// The one before goes on until the new one has all.
				b.Advance(every)
				before.Now()
				b.Manual.Step(time.Duration(rapid.Int64Range(int64(-2*time.Minute), int64(time.Second)).Draw(t, "step meanwhile")))
				last = before.Now()
				strict.Exceed(before.Kept())
			},
			"": func(t *rapid.T) {
				now := strict.Now()
				slowest := last.Wall + int64(now.Mono.Sub(last.Mono))/2
				if now.Wall < slowest-1 { // halves are rounded
					t.Fatalf("known time is %v behind half of what has passed", time.Duration(slowest-now.Wall))
				}
				if now.Wall > slowest+1 && now.Wall > b.Shown().Wall {
					t.Fatalf("known time is ahead of the wall clock by %v, and was not before", time.Duration(now.Wall-b.Shown().Wall))
				}
				last = now
			},
		})
	})
}

// Once the wall clock has caught up, known time is the wall clock's again.
func TestStrictKnownTimeIsCaughtUpWith(t *testing.T) {
	belief := clockguard.DefaultBelief()
	belief.Strict = true
	b := newBench()
	b.Known = clockguard.NewKnown(b.Manual, b, belief)
	b.Confirm(b.Shown())
	b.run(time.Minute)
	b.wants(t, 0, "before the step")
	b.Manual.Step(-10 * time.Second)
	b.wants(t, 0, "at the step")
	b.run(10 * time.Second)
	b.wants(t, -5*time.Second, "10 s later, at half the pace")
	b.run(10 * time.Second)
	b.wants(t, -10*time.Second, "caught up with")
	b.run(10 * time.Second)
	b.wants(t, -10*time.Second, "and from then on")
}

// No ID is of a time beyond the layout's end, so it is no bound once the clock is right, nor is it handed over.
func TestStrictKnownTimeComesBackFromBeyondTheEnd(t *testing.T) {
	belief := clockguard.Belief{Strict: true, Trust: true}
	b := newBench()
	belief.End = b.Shown().Wall + int64(time.Hour)
	b.Known = clockguard.NewKnown(b.Manual, b, belief)
	b.Confirm(b.Shown())
	b.run(time.Minute)
	b.Manual.Step(2 * time.Hour)
	b.Confirm(b.Shown()) // it is followed
	b.wants(t, 2*time.Hour, "beyond the end")
	if known, _ := b.Kept(); known >= belief.End {
		t.Errorf("hands over %v", time.Unix(0, known))
	}
	b.Manual.Step(-2*time.Hour - time.Second)
	b.run(10 * time.Second)
	b.wants(t, -time.Second, "back")
}

func TestReadingKnownTimeAllocatesNothing(t *testing.T) {
	k := clockguard.NewKnown(clockguard.System{}, clockguard.SystemKernel{}, clockguard.DefaultBelief())
	if n := testing.AllocsPerRun(100, func() { k.Now() }); n != 0 {
		t.Errorf("Now allocates %v times", n)
	}
	b := newBench()
	b.Manual.Step(time.Hour)
	b.Observe()
	if n := testing.AllocsPerRun(100, func() { b.Known.Now() }); n != 0 {
		t.Errorf("Now allocates %v times in a hold", n)
	}
}

// The kernel of this machine answers.
func TestTheMachinesKernel(t *testing.T) {
	var k clockguard.SystemKernel
	first := k.Boot()
	if second := k.Boot(); first <= 0 || second < first {
		t.Errorf("the boot clock went from %d to %d", first, second)
	}
	if k.BootID() == "" {
		t.Error("the boot has no name")
	}
	if maxError, ok := k.Synchronised(); ok && maxError < 0 {
		t.Errorf("wrong by %v", maxError)
	}
}
