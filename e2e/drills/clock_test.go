//go:build e2e

package drills

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

// setback is a step back of one host's clock.
type setback struct {
	name   string
	by     time.Duration
	answer string // what the guard has to answer
	times  int
	watch  time.Duration // how long answers are watched after a step; where the ring answers, it has to last for all of it, and for that before
	added  bool          // what counts is the stall above the one before the step, over as long
	aim    time.Duration
	// The median's, above which the drill fails: far above the aim, and far below what it costs to
	// wait for the clock. No stall is longer than watch, so it is below that.
	limit time.Duration
}

// before is how long before a step answers are watched.
func (s setback) before() time.Duration {
	if s.added {
		return s.watch
	}
	return 200 * time.Millisecond // the clients go on with what they waited for
}

// busy is how long a service may have to wait for IDs, whatever befell its host, on a machine that
// does much else.
const busy = 3 * time.Second

var stepsBack = []setback{
	{name: "3ms", by: 3 * time.Millisecond, answer: "sleep", times: 5, watch: time.Second, aim: 10 * time.Millisecond, limit: 100 * time.Millisecond},
	{name: "150ms", by: 150 * time.Millisecond, answer: "ring", times: 5, watch: 400 * time.Millisecond, added: true, aim: 5 * time.Millisecond, limit: 75 * time.Millisecond},
	{name: "1.5s", by: 1500 * time.Millisecond, answer: "ring", times: 3, watch: 1600 * time.Millisecond, added: true, aim: 5 * time.Millisecond, limit: 500 * time.Millisecond},
	{name: "30s", by: 30 * time.Second, answer: "release", times: 1, watch: settled, aim: time.Second, limit: time.Second},
	{name: "1h", by: time.Hour, answer: "release", times: 1, watch: settled, aim: time.Second, limit: time.Second},
}

func init() {
	for _, s := range stepsBack {
		register(Drill{
			Name:   "clock-back-" + s.name,
			What:   fmt.Sprintf("one host's clock goes back by %v under load: %s", s.by, s.expected()),
			Script: s.script,
			Judge:  s.judge,
		})
	}
	register(
		Drill{
			Name:   "clock-back-all",
			What:   "the clocks of all hosts go back at once, by 2 s and then by 1 h: every host serves on within a second",
			Script: backAll,
			Judge:  judgeBackAll,
		},
		Drill{
			Name:   "clock-oscillation",
			What:   "one host's clock jumps between 200 ms ahead and 200 ms behind, 20 times a second for 10 s: no request fails",
			Script: oscillation,
			Judge:  judgeOscillation,
		},
	)
}

func (s setback) expected() string {
	switch s.answer {
	case "sleep":
		return "requests wait for it"
	case "ring":
		return "sequence numbers left unused are issued, with no stall"
	default:
		return "another worker ID serves within a second"
	}
}

// steps are when clocks were stepped, and what the guard answered then.
type steps struct {
	at      []evidence.Mono
	answers answers
}

var setbacks notes[steps]

func (s setback) script(ctx context.Context, r *Run) {
	seen, h := setbacks.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	before := mustGet(guardAnswers(ctx, h))
	r.Step("the clock of %s goes back by %v, %d times, and answers are watched for %v before and %v after", h.Name, s.by, s.times, s.before(), s.watch)
	must(r.Quiet(ctx, func(ctx context.Context) error {
		for range s.times {
			if err := r.Last(ctx, s.before()); err != nil {
				return err
			}
			seen.at = append(seen.at, evidence.Now())
			if err := h.SetClock(ctx, h.Offset()-s.by); err != nil {
				return err
			}
			if err := r.Last(ctx, s.watch); err != nil {
				return err
			}
		}
		return nil
	}))
	after := mustGet(guardAnswers(ctx, h))
	seen.answers = after.since(before)
	r.Step("the guard answered: %v", seen.answers)
	must(all(ctx, r.Hosts, 1000))
}

func (s setback) judge(res *Result) {
	seen := setbacks.of(res.Run)
	noneFailedAnywhere(res)
	if seen.answers[s.answer] == 0 {
		res.Fail("the guard should have answered by %s, and answered: %v", s.answer, seen.answers)
	}
	if s.answer != "release" && seen.answers["release"] > 0 {
		res.Fail("a step back of %v cost a worker ID; the guard answered: %v", s.by, seen.answers)
	}
	var stalls []time.Duration
	canTell(res, "a stall", s.watch, s.limit)
	for _, at := range seen.at {
		stall := res.Host(0).LongestStall(at, at+evidence.Mono(s.watch))
		if s.added {
			stall -= res.Host(0).LongestStall(at-evidence.Mono(s.before()), at)
		}
		stalls = append(stalls, stall)
		if s.answer == "release" {
			served(res, 0, at, s.by)
		}
	}
	if len(stalls) == 0 {
		res.Fail("the clock was never stepped")
		return
	}
	slices.Sort(stalls)
	what := "stall"
	if s.added {
		what = "added stall"
	}
	worst, median := stalls[len(stalls)-1], stalls[len(stalls)/2]
	if len(stalls) > 1 {
		res.Figure(fmt.Sprintf("%s, median of %d", what, len(stalls)), inMillis(median), "<= "+inMillis(s.aim), median <= s.aim)
		what += ", worst"
	}
	res.Figure(what, inMillis(worst), "<= "+inMillis(s.aim), worst <= s.aim)
	if median > s.limit {
		res.Fail("the clock went back by %v, and the %s was %v; more than %v is not what a busy machine does", s.by, what, median, s.limit)
	}
}

func inMillis(d time.Duration) string {
	return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
}

// settled is when a step of a clock is over, for those who look at what came of it: a stall that is
// longer than busy shows within it.
const settled = busy + 500*time.Millisecond

// served fails the drill if the host had no IDs of the time that its clock shows, long enough after
// it went back at an instant: another worker ID was to be had, or its own, opened anew there.
func served(res *Result, i int, at evidence.Mono, by time.Duration) {
	n, name := 0, res.Run.Hosts[i].Name
	for _, r := range res.hosts[i].between(at+evidence.Mono(time.Second), at+evidence.Mono(settled)) {
		if r.Outcome != evidence.Got {
			continue
		}
		for _, run := range r.IDs {
			n++
			parts, err := res.Run.Layout.Decompose(run.First)
			if err != nil || parts.Time.UnixNano() > res.Run.trueTime(r.Answered)-int64(by/2) {
				res.Fail("%s gave %d a second after its clock went back by %v, which is of the time before, %v: %v", name, run.First, by, parts.Time, err)
				return
			}
		}
	}
	if n == 0 {
		res.Fail("%s gave nothing a second after its clock went back by %v", name, by)
	}
}

var allBack notes[steps]

func backAll(ctx context.Context, r *Run) {
	seen := allBack.of(r)
	must(all(ctx, r.Hosts, 1000))
	for _, by := range []time.Duration{2 * time.Second, time.Hour} {
		r.Step("the clocks of all hosts go back by %v", by)
		seen.at = append(seen.at, evidence.Now())
		must(Each(r.Hosts, func(h *Host) error { return h.SetClock(ctx, h.Offset()-by) }))
		must(r.Last(ctx, settled))
		for _, h := range r.Hosts {
			now := mustGet(guardAnswers(ctx, h))
			r.Step("the guard of %s has answered: %v", h.Name, now)
			if now["ring"]+now["release"] == 0 {
				fail("the drill is void: the clock of %s went back by %v, and its guard answered: %v", h.Name, by, now)
			}
		}
	}
	must(all(ctx, r.Hosts, 1000))
}

func judgeBackAll(res *Result) {
	seen := allBack.of(res.Run)
	noneFailedAnywhere(res)
	for i, at := range seen.at {
		stalled(res, []string{"longest stall, 2s back", "longest stall, 1h back"}[i], res.LongestStall, at, at+evidence.Mono(settled), time.Second, busy)
	}
	for i := range res.Run.Hosts {
		if len(seen.at) == 2 {
			served(res, i, seen.at[1], time.Hour)
		}
	}
}

const (
	oscillateBy    = 200 * time.Millisecond
	oscillateEvery = 50 * time.Millisecond
	oscillateFor   = 10 * time.Second
)

var oscillations notes[steps]

func oscillation(ctx context.Context, r *Run) {
	seen, h := oscillations.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	before := mustGet(guardAnswers(ctx, h))
	r.Step("the clock of %s jumps between %v ahead and behind, every %v, for %v", h.Name, oscillateBy, oscillateEvery, oscillateFor)
	seen.at = append(seen.at, evidence.Now())
	must(h.Oscillate(ctx, -oscillateBy, oscillateBy, oscillateEvery, oscillateFor))
	seen.at = append(seen.at, evidence.Now())
	after := mustGet(guardAnswers(ctx, h))
	seen.answers = after.since(before)
	r.Step("the guard answered: %v", seen.answers)
	must(all(ctx, r.Hosts, 1000))
}

func judgeOscillation(res *Result) {
	seen := oscillations.of(res.Run)
	noneFailedAnywhere(res)
	if seen.answers["ring"] == 0 {
		res.Fail("the drill is void: the guard answered: %v", seen.answers)
	}
	if len(seen.at) != 2 {
		res.Fail("the clock did not oscillate")
		return
	}
	stalled(res, "longest stall", res.Host(0).LongestStall, seen.at[0], seen.at[1], 100*time.Millisecond, busy)
	res.Figure("worker IDs given up", fmt.Sprint(len(res.Workers(0, seen.at[0], seen.at[1]))-1), "", true)
}
