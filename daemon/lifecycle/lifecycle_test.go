package lifecycle_test

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/lifecycle"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// hands is a clock on which time passes when somebody sleeps. Nobody has to wait for it.
type hands struct {
	ahead time.Duration // of the wall clock
	mono  time.Duration
	slept []time.Duration
	end   func() // called by the sleep after which there is none; nil: never
	last  int
	each  func() // called by each sleep; nil: nothing
}

func (h *hands) Now() clockguard.Reading {
	return clockguard.Reading{Wall: time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC).UnixNano() + int64(h.mono+h.ahead), Mono: clockguard.Mono(h.mono)}
}

func (h *hands) Sleep(ctx context.Context, d time.Duration) error {
	h.mono += d
	if h.slept = append(h.slept, d); len(h.slept) == h.last {
		h.end()
	}
	if h.each != nil {
		h.each()
	}
	return ctx.Err()
}

type nowhere struct{}

func (nowhere) Use(*generator.Lane) {}
func (nowhere) Changed()            {}

// office is a coordinator that answers to Join as it is told, one after the other, and then yes.
type office struct {
	coord.Coordinator
	answers []error
	joined  []coord.Layout
	closed  int
	members func() []coord.Member // nil: none
	listed  int                   // how many times they were
	hidden  int                   // how many times they cannot be,
	why     error                 // and why; nil: errBusy
	limits  []time.Duration       // how long each listing might take
	trusted generator.Tick        // coord.Cluster.Trusted
}

func (o *office) Known() coord.Cluster { return coord.Cluster{Trusted: o.trusted} }

func (o *office) Members(ctx context.Context) ([]coord.Member, error) {
	end, _ := ctx.Deadline()
	o.limits = append(o.limits, time.Until(end))
	if o.hidden > 0 {
		o.hidden--
		return nil, cmp.Or(o.why, errBusy)
	}
	o.listed++
	if o.members == nil {
		return nil, nil
	}
	return o.members(), nil
}

func (o *office) Join(_ context.Context, l coord.Layout) (coord.Cluster, error) {
	o.joined = append(o.joined, l)
	if len(o.answers) > 0 {
		err := o.answers[0]
		o.answers = o.answers[1:]
		return coord.Cluster{}, err
	}
	return coord.Cluster{UUID: "the cluster"}, nil
}

func (o *office) Close() error { o.closed++; return nil }

func newLifecycle(t *testing.T, clock *hands, open func(context.Context) (coord.Coordinator, error)) (*lifecycle.Lifecycle, *string) {
	t.Helper()
	layout := must.Get(generator.ParseLayout("flakeward"))(t)
	log := hclog.NewNullLogger()
	holder := grant.New(grant.Config{
		Layout: layout, Coord: "there", Timing: grant.Timing{Window: time.Minute, Publish: time.Second}, Clock: clock, Log: log,
	}, nowhere{})
	cluster := new(string)
	return &lifecycle.Lifecycle{Holder: holder, Layout: layout, Clock: known(clock), Belief: clockguard.DefaultBelief(), Coord: "there", Open: open, Joined: func(c coord.Cluster) { *cluster = c.UUID }, Log: log}, cluster
}

var errBusy = errors.New("busy")

// It tries again ever later, with the coordinator that was opened once, and says its layout.
func TestJoinTriesAgain(t *testing.T) {
	clock, o, opened := &hands{}, &office{answers: []error{errBusy, errBusy, errBusy}}, 0
	l, cluster := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) {
		if opened++; opened < 4 {
			return nil, errBusy
		}
		return o, nil
	})
	c, err := l.Join(t.Context())
	ms := time.Millisecond
	if err != nil || c != coord.Coordinator(o) || opened != 4 || *cluster != "the cluster" ||
		!slices.Equal(clock.slept, []time.Duration{100 * ms, 200 * ms, 400 * ms, 800 * ms, 1600 * ms, 2000 * ms}) {
		t.Errorf("joined %q with %v, %v, opened %d times, after pauses of %v", *cluster, c, err, opened, clock.slept)
	}
	if len(o.joined) != 4 || o.joined[0].Workers != 1024 || !strings.HasSuffix(o.joined[0].Text, ";datacenter=0") {
		t.Errorf("asked to join with %+v", o.joined)
	}
	l.Leave(t.Context(), c)
	if o.closed != 1 {
		t.Errorf("closed %d times", o.closed)
	}
}

// Servers that went back while a start waited for a cluster, or for the list of its members, are
// asked anew, as by one that has seen nothing.
func TestJoinForgetsWhatItSawBeforeItHeldAnything(t *testing.T) {
	for _, err := range []error{&coord.RestoredError{Why: "it went back"}, coord.ErrTurnedAway, coord.ErrOtherCluster} {
		for _, first := range []*office{{answers: []error{coord.ErrNoCluster, err, errBusy}}, {answers: []error{errBusy}, hidden: 100, why: err}} {
			second := &office{}
			opened := []*office{first, second}
			l, _ := newLifecycle(t, &hands{}, func(context.Context) (coord.Coordinator, error) {
				o := opened[0]
				opened = opened[1:]
				return o, nil
			})
			if c, got := l.Join(t.Context()); got != nil || c != coord.Coordinator(second) || first.closed != 1 || len(first.joined) != 2 || second.listed != 1 {
				t.Errorf("%v: joined %v, %v; the first was closed %d times and asked %d times", err, c, got, first.closed, len(first.joined))
			}
		}
	}
}

// What stays as it is ends it at once, also where only the list of the members shows it.
func TestJoinGivesUp(t *testing.T) {
	for name, err := range map[string]error{"a layout": &coord.LayoutError{Ours: "a", Cluster: "b"}, "what the caller says": errBusy} {
		for _, o := range []*office{{answers: []error{err}}, {hidden: 1, why: err}} {
			clock := &hands{}
			l, cluster := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) { return o, nil })
			l.Final = func(err error) bool { return errors.Is(err, errBusy) }
			c, got := l.Join(t.Context())
			if !errors.Is(got, err) || !strings.Contains(got.Error(), `coordinator "there"`) || c != coord.Coordinator(o) || len(clock.slept) > 0 || *cluster == "" != (o.why == nil) {
				t.Errorf("%s: %v, %v, after pauses of %v", name, c, got, clock.slept)
			}
		}
	}
}

// Its end is no error, and leaving is possible whether or not anything was opened.
func TestJoinUntilTheEnd(t *testing.T) {
	for _, opens := range []bool{true, false} {
		ctx, cancel := context.WithCancel(t.Context())
		clock, o := &hands{end: cancel, last: 3}, &office{answers: slices.Repeat([]error{errBusy}, 100)}
		l, _ := newLifecycle(t, clock, func(context.Context) (coord.Coordinator, error) {
			if opens {
				return o, nil
			}
			return nil, errBusy
		})
		c, err := l.Join(ctx)
		if err != nil || (c != nil) != opens || len(clock.slept) != 3 {
			t.Errorf("opens %v: %v, %v, after pauses of %v", opens, c, err, clock.slept)
		}
		l.Leave(t.Context(), c)
		if closed := o.closed == 1; closed != opens {
			t.Errorf("opens %v: closed %d times", opens, o.closed)
		}
	}
}

func TestRestartWaitAndLimits(t *testing.T) {
	for _, c := range []struct {
		layout       string
		wanted, want time.Duration
	}{
		{"flakeward", time.Second, time.Second},
		{"flakeward", 0, 2 * time.Millisecond},
		{"uidgenerator;epoch=2026-01-01", time.Second, 2 * time.Second},
	} {
		layout := must.Get(generator.ParseLayout(c.layout))(t)
		if got := lifecycle.RestartWait(layout, c.wanted); got != c.want {
			t.Errorf("%s: a fresh lane waits for %v, want %v", c.layout, got, c.want)
		}
		if _, err := lifecycle.Limits(layout, 0, 5*time.Millisecond); err != nil {
			t.Errorf("%s: %v", c.layout, err)
		}
	}
}

// known is known time by a clock whose kernel says nothing.
func known(clock clockguard.Clock) *clockguard.Known {
	return clockguard.NewKnown(clock, nil, clockguard.DefaultBelief())
}
