package lifecycle_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/logging"
	"github.com/flakeward/flakeward/internal/must"
)

// clerk is a coordinator that grants what is asked for, while it is not away.
type clerk struct {
	office
	away   error
	closed error // of opening a claim
}

func (*clerk) Known() coord.Cluster { return coord.Cluster{} }

func (c *clerk) Claim(context.Context, coord.Request) (coord.Claim, error) {
	return claim{c}, errors.Join(c.away, c.closed)
}

// claim is of one worker ID, which is free.
type claim struct{ *clerk }

func (c claim) Worker() int                                   { return 7 }
func (c claim) Name() string                                  { return "claim" }
func (c claim) Opening() string                               { return "opening" }
func (c claim) Floor() generator.Tick                         { return 0 }
func (c claim) Extend(context.Context, coord.Progress) error  { return c.away }
func (c claim) Release(context.Context, generator.Last) error { return c.away }

// outage is a daemon with one lane, on a clock that tests move, which is asked for an ID in each
// tenth of a second.
type outage struct {
	*testing.T
	*hands
	*clerk
	holder    *grant.Holder
	lifecycle *lifecycle.Lifecycle
	issuer    *issue.Issuer
	log       bytes.Buffer
	began     time.Time
	answer    string // of the last request: empty for an ID
	said      []string
}

// ReLease implements issue.Owner, as do the others.
func (o *outage) ReLease(l *generator.Lane) { o.holder.ReLease(l) }
func (o *outage) ExtendNow()                {}
func (o *outage) CanAcquire() bool          { return o.holder.CanAcquire() }
func (o *outage) Condition() error          { return o.holder.Condition() }

// newOutage is one whose lane holds a worker ID, granted for the window.
func newOutage(t *testing.T, window time.Duration) *outage {
	o := &outage{T: t, hands: &hands{}, clerk: &clerk{}}
	l, _ := newLifecycle(t, o.hands, nil)
	l.Events = condition.NewCounts()
	l.Log = logging.New(&hclog.LoggerOptions{Output: &o.log, DisableTime: true})
	o.issuer = issue.New(l.Layout, l.Clock, issue.Limits{
		Guard: clockguard.Limits{MaxSleep: 5 * time.Millisecond, Span: 2 * time.Second}, MaxBlock: time.Millisecond,
	}, o)
	o.holder = grant.New(grant.Config{
		Layout: l.Layout, Coord: "there", Timing: grant.Timing{Window: window, Publish: window / 2},
		Age: time.Hour, Clock: l.Clock, Log: hclog.NewNullLogger(),
	}, o.issuer)
	l.Holder, o.lifecycle, o.began = o.holder, l, time.Unix(0, o.Now().Wall)
	o.holder.Attach(o.clerk, coord.Cluster{UUID: "the cluster"})
	must.Do(t, o.holder.Acquire(t.Context(), false))
	return o
}

// run lets the daemon live, and calls what is due at a time since the start before it looks. It
// returns the log, each line with the time at which it was written.
func (o *outage) run(until time.Duration, due map[time.Duration]func()) string {
	o.Helper()
	ctx, cancel := context.WithCancel(o.Context())
	defer cancel()
	o.each = func() {
		if do := due[o.mono]; do != nil {
			do()
		}
		o.note()
		o.ask()
		if o.mono >= until {
			cancel()
		}
	}
	must.Do(o, o.lifecycle.Watch(ctx, o.issuer))
	o.counted()
	return strings.Join(o.said, "")
}

// told checks what run returned.
func (o *outage) told(said, want string) {
	o.Helper()
	if said != want {
		o.Errorf("said\n%s\nwant\n%s", said, want)
	}
}

// counted checks that each event was counted as often as the log has its code.
func (o *outage) counted() {
	o.Helper()
	lines := append(slices.Clone(o.said), o.log.String())
	for _, e := range condition.Table {
		var logged uint64
		for _, line := range lines {
			if !strings.Contains(line, " NEXT: ") {
				logged += uint64(len(regexp.MustCompile(` code="?`+string(e.Code)+`"?\s`).FindAllString(line, -1)))
			}
		}
		if n := o.lifecycle.Events.Of(e.Code); n != logged {
			o.Errorf("%s was counted %d times, and logged %d times:\n%s", e.Code, n, logged, strings.Join(lines, ""))
		}
	}
}

// note notes what was logged at the look before.
func (o *outage) note() {
	for line := range strings.Lines(o.log.String()) {
		o.said = append(o.said, fmt.Sprintf("%6.1fs %s", (o.mono-lifecycle.WatchEvery).Seconds(), line))
	}
	o.log.Reset()
}

// ask asks for an ID, and once more after the deadline if there is none, and notes when that
// changes.
func (o *outage) ask() {
	var c issue.Connection
	answer := ""
	if run, _ := o.issuer.Take(&c, 0, 1); run.N == 0 {
		o.mono += time.Millisecond
		if run, wait := o.issuer.Take(&c, 0, 1); run.N == 0 {
			answer = fmt.Sprint(wait.Err)
		}
		o.mono -= time.Millisecond
	}
	if answer != o.answer {
		o.said = append(o.said, fmt.Sprintf("%6.1fs NEXT: %s\n", o.mono.Seconds(), answer))
	}
	o.answer = answer
}

func (o *outage) publish() { _ = o.holder.Acquire(o.Context(), false) }

// The outage of a coordinator that is away for 34 s where the grant is of 20 s: each line comes at
// its time, once and in order, and says the right times.
func TestAnOutageOfTheCoordinatorIsToldAsItHappens(t *testing.T) {
	o := newOutage(t, 20*time.Second)
	said := o.run(40*time.Second, map[time.Duration]func(){
		1 * time.Second:  func() { o.away = errors.New("no answer within 3s") },
		13 * time.Second: o.publish, // which was due at 10 s
		17 * time.Second: o.publish,
		25 * time.Second: func() { o.away = errors.New("connection refused"); o.publish() },
		35 * time.Second: func() { o.away = nil; o.publish() },
	})
	want := `  13.0s [WARN]  IDs run out unless this is fixed: code=coordinator-gone ends=2026-03-01T00:00:20.001Z in=7.001s error="worker ID 7 was not granted more: no answer within 3s" do="do what the reason says: bring the coordinator back, or correct --coord"
  16.6s [WARN]  half of the time until issuing stops is over: code=half-over cause=coordinator-gone ends=2026-03-01T00:00:20.001Z in=3.401s error="worker ID 7 was not granted more: no answer within 3s" do="do what the reason says: bring the coordinator back, or correct --coord"
  20.1s NEXT: since 2026-03-01T00:00:20.001Z no ID can be had, the last is of 2026-03-01T00:00:20.000Z: worker ID 7 was not granted more: no answer within 3s; code=grant-ended: bring the coordinator back: issuing goes on within two seconds; gave up after 1ms; try again later
  20.1s [ERROR] issuing has stopped: code=grant-ended cause=coordinator-gone since=2026-03-01T00:00:20.001Z last=2026-03-01T00:00:20.000Z error="worker ID 7 was not granted more: no answer within 3s" do="bring the coordinator back: issuing goes on within two seconds"
  25.0s NEXT: since 2026-03-01T00:00:20.001Z no ID can be had, the last is of 2026-03-01T00:00:20.000Z: worker ID 7 was not granted more: connection refused; code=grant-ended: bring the coordinator back: issuing goes on within two seconds; gave up after 1ms; try again later
  35.0s NEXT: 
  35.0s [INFO]  issuing goes on: code=issuing after=14.999s
`
	o.told(said, want)
}

// A coordinator that is back before the grant ends has stopped nothing.
func TestAnOutageThatEndsInTimeIsToldAsOver(t *testing.T) {
	o := newOutage(t, 20*time.Second)
	said := o.run(16*time.Second, map[time.Duration]func(){
		13 * time.Second: func() { o.away = errors.New("no answer"); o.publish() },
		15 * time.Second: func() { o.away = nil; o.publish() },
	})
	want := `  13.0s [WARN]  IDs run out unless this is fixed: code=coordinator-gone ends=2026-03-01T00:00:20.001Z in=7.001s error="worker ID 7 was not granted more: no answer" do="do what the reason says: bring the coordinator back, or correct --coord"
  15.0s [INFO]  recovered: IDs do not run out any more: code=recovered after=2s
`
	o.told(said, want)
}

// A worker ID that is lost is issued from to the end of its grant. What keeps another one from
// being had is told once, as often as it is tried.
func TestALostWorkerIDIsToldAsItHappens(t *testing.T) {
	o := newOutage(t, 20*time.Second)
	due := map[time.Duration]func(){
		2 * time.Second: func() { o.away = coord.ErrLost; o.publish() },
		// The coordinator has none, and then grants again what was lost.
		30 * time.Second: func() { o.away = nil; _ = o.holder.Acquire(o.Context(), false) },
	}
	for at := 3 * time.Second; at < 30*time.Second; at += time.Second {
		due[at] = func() {
			o.away = &coord.ExhaustedError{Held: 4, Workers: 4}
			_ = o.holder.Acquire(o.Context(), false)
		}
	}
	said := o.run(31*time.Second, due)
	const taken = "no worker ID: all worker IDs are taken: 4 held of 4; stop a daemon that is not needed, " +
		"wait until the session of one that died ends, or use a layout with more worker bits"
	const do = "stop a daemon that is not needed, wait for the session of a dead one to end, or use flakeward claims clear"
	want := `   2.0s [WARN]  IDs run out unless this is fixed: code=claim-lost ends=2026-03-01T00:00:20.001Z in=18.001s error="worker ID 7 was not granted more: the claim on the worker ID is lost; claim again" do="nothing; where it recurs, raise --ttl above the host's pauses"
   3.0s [WARN]  IDs run out unless this is fixed: code=worker-ids-taken ends=2026-03-01T00:00:20.001Z in=17.001s error="` + taken + `" do="stop a daemon that is not needed, wait for the session of a dead one to end, or use flakeward claims clear"
  11.1s [WARN]  half of the time until issuing stops is over: code=half-over cause=worker-ids-taken ends=2026-03-01T00:00:20.001Z in=8.901s error="` + taken + `" do="stop a daemon that is not needed, wait for the session of a dead one to end, or use flakeward claims clear"
  20.1s NEXT: since 2026-03-01T00:00:20.001Z no ID can be had, the last is of 2026-03-01T00:00:20.000Z: ` + taken + `; code=grant-ended: ` + do + `; gave up after 1ms; try again later
  20.1s [ERROR] issuing has stopped: code=grant-ended cause=worker-ids-taken since=2026-03-01T00:00:20.001Z last=2026-03-01T00:00:20.000Z error="` + taken + `" do="` + do + `"
  30.0s NEXT: 
  30.0s [INFO]  issuing goes on: code=issuing after=9.999s
`
	o.told(said, want)
}

// A stop that goes on for another reason is the same stop, and is told once: it began when the
// grant ended, after the last ID.
func TestAStopThatGoesOnForAnotherReasonKeepsItsBeginning(t *testing.T) {
	o := newOutage(t, 20*time.Second)
	said := o.run(31*time.Second, map[time.Duration]func(){
		13 * time.Second: func() { o.away = errors.New("no answer within 3s"); o.publish() },
		25 * time.Second: func() { // the session has ended, and its claim
			o.away = coord.ErrLost
			o.publish()
			o.away, o.closed = nil, fmt.Errorf("the session has ended: %w", coord.ErrLost)
			_ = o.holder.Acquire(o.Context(), false)
		},
		30 * time.Second: func() { o.closed = nil; _ = o.holder.Acquire(o.Context(), false) },
	})
	want := `  13.0s [WARN]  IDs run out unless this is fixed: code=coordinator-gone ends=2026-03-01T00:00:20.001Z in=7.001s error="worker ID 7 was not granted more: no answer within 3s" do="do what the reason says: bring the coordinator back, or correct --coord"
  16.6s [WARN]  half of the time until issuing stops is over: code=half-over cause=coordinator-gone ends=2026-03-01T00:00:20.001Z in=3.401s error="worker ID 7 was not granted more: no answer within 3s" do="do what the reason says: bring the coordinator back, or correct --coord"
  20.1s NEXT: since 2026-03-01T00:00:20.001Z no ID can be had, the last is of 2026-03-01T00:00:20.000Z: worker ID 7 was not granted more: no answer within 3s; code=grant-ended: bring the coordinator back: issuing goes on within two seconds; gave up after 1ms; try again later
  20.1s [ERROR] issuing has stopped: code=grant-ended cause=coordinator-gone since=2026-03-01T00:00:20.001Z last=2026-03-01T00:00:20.000Z error="worker ID 7 was not granted more: no answer within 3s" do="bring the coordinator back: issuing goes on within two seconds"
  25.0s NEXT: since 2026-03-01T00:00:20.001Z no ID can be had, the last is of 2026-03-01T00:00:20.000Z: no worker ID: the session has ended: the claim on the worker ID is lost; claim again; code=grant-ended: nothing; where it recurs, raise --ttl above the host's pauses; gave up after 1ms; try again later
  30.0s NEXT: 
  30.0s [INFO]  issuing goes on: code=issuing after=9.999s
`
	o.told(said, want)
}

// A clock that is set back is told, with until when that has an effect.
func TestAClockThatIsBehindIsToldAsItHappens(t *testing.T) {
	o := newOutage(t, 20*time.Second)
	said := o.run(6*time.Second, map[time.Duration]func(){
		2 * time.Second: func() { o.ahead = -3 * time.Second },
	})
	var told []string
	for line := range strings.Lines(said) {
		if _, first, _ := strings.Cut(line, "s "); !strings.HasPrefix(first, "NEXT: the clock is behind") || len(told) == 0 {
			told = append(told, line)
		}
	}
	said = strings.Join(told, "")
	want := `   2.0s NEXT: the clock is behind the last ID issued, which is of 2026-03-01T00:00:01.900Z; code=clock-behind: correct the clock, and have it slewed instead of stepped; gave up after 1ms, another 2.899s would have been needed; try again later
   2.0s [WARN]  the clock is behind the last ID: requests get what earlier ticks left or another worker ID's, or wait: code=clock-behind by=2.9s until=2026-03-01T00:00:01.900Z do="correct the clock, and have it slewed instead of stepped"
   2.0s [WARN]  the clock has stepped: by=-3s
   3.0s NEXT: 
   4.9s [INFO]  the clock is not behind the last ID any more: code=clock-back after=2.9s
`
	o.told(said, want)
}
