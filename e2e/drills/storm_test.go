//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/internal/fault"
)

func init() {
	register(Drill{
		Name: "storm",
		What: "faults of all kinds, some at a time, chosen by a seed: whatever comes together, every host serves again soon after the last one is healed",
		Options: Options{
			Limit: 20 * time.Minute,
			// Few worker IDs, so that whoever loses one meets the others' claims.
			Layout: "time=41@1ms,worker=2,sequence=20;epoch=2026-01-01",
			// Now and then a number takes long to be taken.
			Env: map[string]string{fault.HoldTakes: "1000/30ms"},
		},
		Script: storm,
		Judge:  judgeStorm,
	})
}

// A storm's faults, at least.
const shortStorm, longStorm = 6, 100

const shortLimit = 5 * time.Minute

// stormSize is when a storm may end: when both are reached.
func stormSize(r *Run) (blows, ids int) {
	if r.Long {
		return longStorm, 50_000_000
	}
	return shortStorm, 100_000
}

// weather is a storm's, as it is.
type weather struct {
	r *Run

	blows, gusts int
	slowest      time.Duration // until all hosts served after a gust
	healed       evidence.Mono
	served       evidence.Mono
}

var storms notes[weather]

func storm(ctx context.Context, r *Run) {
	w := storms.of(r)
	w.r = r
	if !r.Long {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, shortLimit, fmt.Errorf("the short form's time of %v is over", shortLimit))
		defer cancel()
	}
	blows, ids := stormSize(r)
	plan := newForecast(r.Seed, r.Coordinator)
	for n := 0; w.blows < blows || w.received() < ids; n++ {
		g := plan.next()
		if err := w.gust(ctx, n, g); err != nil {
			fail("gust %d of seed %d: %w", n, r.Seed, err)
		}
	}
	r.Step("the storm is over: %d faults in %d gusts of seed %d; %d IDs", w.blows, w.gusts, r.Seed, w.received())
	w.healed = evidence.Now()
	must(w.calm(ctx))
	w.served = evidence.Now()
	must(all(ctx, r.Hosts, 1000))
}

func (w *weather) received() (n int) {
	for _, h := range w.r.Hosts {
		n += h.Received()
	}
	return n
}

// calm waits until every host serves and the coordinator answers it.
func (w *weather) calm(ctx context.Context) error {
	if err := w.r.Members.AwaitQuorum(ctx); err != nil {
		return err
	}
	return errors.Join(w.serve(ctx), granted(ctx, w.r, w.r.Hosts...))
}

// serve waits until every host has answered, and not for ever.
func (w *weather) serve(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stormTimeout, fmt.Errorf("everything has been healed for %v", stormTimeout))
	defer cancel()
	return Each(w.r.Hosts, func(h *Host) error {
		if _, err := h.AwaitAnswer(ctx); err != nil {
			return fmt.Errorf("%s does not serve again: %w", h.Name, err)
		}
		return nil
	})
}

// gust does all that happens at once, and waits until all of it is healed and, unless it is
// followed in a rush, every host serves.
func (w *weather) gust(ctx context.Context, n int, g gust) error {
	if g.calm {
		if err := w.calm(ctx); err != nil {
			return err
		}
	}
	var plan []string
	for _, b := range g.blows {
		plan = append(plan, b.String())
	}
	w.r.Step("gust %d: %s", n, strings.Join(plan, "; "))
	var all sync.WaitGroup
	errs := make([]error, len(g.blows))
	for i, b := range g.blows {
		all.Go(func() {
			if errs[i] = w.r.Last(ctx, b.after); errs[i] != nil {
				return
			}
			if b.host < 0 {
				errs[i] = w.hitMembers(ctx, b)
			} else {
				errs[i] = w.hitHost(ctx, w.r.Hosts[b.host], b)
			}
			if errs[i] != nil {
				errs[i] = fmt.Errorf("%v: %w", b, errs[i])
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	w.gusts++
	w.blows += len(g.blows)
	if g.rush {
		return nil
	}
	healed := evidence.Now()
	err := w.serve(ctx)
	w.slowest = max(w.slowest, time.Duration(evidence.Now()-healed))
	return err
}

// inTurn does one thing after the other until one fails.
func inTurn(things ...func() error) error {
	for _, do := range things {
		if err := do(); err != nil {
			return err
		}
	}
	return nil
}

func (w *weather) hitHost(ctx context.Context, h *Host, b blow) error {
	last := func() error { return w.r.Last(ctx, b.lasts) }
	set := func(offset time.Duration) func() error {
		return func() error {
			if offset == h.Offset() {
				return nil
			}
			return h.SetClock(ctx, offset)
		}
	}
	with := func(do func(context.Context) error) func() error { return func() error { return do(ctx) } }
	start := func() error { return h.Start(ctx) }
	cut := func(d Direction) error {
		return inTurn(func() error { return h.Cut(ctx, d) }, last, with(h.Heal))
	}
	switch b.kind {
	case blowClock:
		return inTurn(set(b.clock), last, set(0))
	case blowOscillation:
		return h.Oscillate(ctx, -200*time.Millisecond, 200*time.Millisecond, 50*time.Millisecond, b.lasts)
	case blowKill:
		return inTurn(with(h.Kill), set(b.clock), start, last, set(0))
	case blowStop:
		return inTurn(with(h.Stop), set(b.clock), start, last, set(0))
	case blowPause:
		return inTurn(with(h.Pause), last, with(h.Resume))
	case blowCutBoth:
		return cut(Both)
	case blowCutIn:
		return cut(In)
	case blowCutOut:
		return cut(Out)
	case blowDiskLost:
		return inTurn(with(h.Kill), with(h.LoseDisk), start, last)
	case blowClear:
		return w.clear(ctx, h, b.pick)
	}
	return fmt.Errorf("%q is no fault of a host", b.kind)
}

// clear has an operator delete one of the claims, whoever has it. One that is gone before is no error.
func (w *weather) clear(ctx context.Context, h *Host, pick int) error {
	claims := func() ([]string, error) { return w.r.Members.backend.claims(ctx, w.r.tree()) }
	names, err := claims()
	if err != nil || len(names) == 0 {
		return errors.Join(err, fmt.Errorf("%d claims to clear", len(names)))
	}
	slices.Sort(names)
	name := names[pick%len(names)]
	err = h.ClearClaim(ctx, name)
	if left, asked := claims(); err != nil && asked == nil && !slices.Contains(left, name) {
		return nil
	}
	return err
}

func (w *weather) hitMembers(ctx context.Context, b blow) error {
	m := w.r.Members
	last := func() error { return w.r.Last(ctx, b.lasts) }
	names := m.Names()
	picked := names[b.pick]
	down := func(names ...string) error {
		return eachName(names, func(name string) error { return m.Kill(ctx, name) })
	}
	up := func(names ...string) error {
		return eachName(names, func(name string) error { return m.Start(ctx, name) })
	}
	var err error
	switch b.kind {
	case blowLeader:
		if picked, err = m.Leader(ctx); err == nil {
			err = inTurn(func() error { return down(picked) }, last, func() error { return up(picked) })
		}
	case blowMemberPause:
		err = inTurn(func() error { return m.Pause(ctx, picked) }, last, func() error { return m.Resume(ctx, picked) })
	case blowMemberCut:
		err = inTurn(func() error { return m.Cut(ctx, picked, Both) }, last, func() error { return m.Heal(ctx, picked) })
	case blowQuorum:
		gone := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return name == picked })
		err = inTurn(func() error { return down(gone...) }, last, func() error { return up(gone...) })
	case blowAll:
		err = inTurn(func() error { return m.KillAll(ctx) }, last, func() error { return m.StartAll(ctx) })
	default:
		return fmt.Errorf("%q is no fault of the coordinator", b.kind)
	}
	if err != nil {
		return err
	}
	return m.AwaitQuorum(ctx)
}

// stormRecovery is what "soon" means: a re-election, a session that has to end and a worker ID
// that rests fit in with room. stormTimeout ends a storm in which somebody does not serve at all.
const stormRecovery, stormTimeout = 10 * time.Second, time.Minute

func judgeStorm(res *Result) {
	w := storms.of(res.Run)
	blows, ids := stormSize(res.Run)
	res.Figure("seed", fmt.Sprint(res.Run.Seed), "", true)
	res.Figure("faults", fmt.Sprint(w.blows), fmt.Sprintf(">= %d", blows), w.blows >= blows)
	res.Figure("IDs", fmt.Sprint(res.Drill.IDs), fmt.Sprintf(">= %d", ids), res.Drill.IDs >= uint64(ids))
	calls := res.Verdict.Calls
	res.Figure("calls on the coordinator, of which were lost, and of unknown outcome", fmt.Sprintf("%d, %d, %d", calls.Done+calls.Lost+calls.Unknown, calls.Lost, calls.Unknown),
		"some of unknown outcome", calls.Unknown > 0)
	if n := len(res.Faults("")); n < w.blows {
		res.Fail("the drill is void: %d blows, and %d faults are noted", w.blows, n)
	}
	res.Figure("slowest until every host served again after a gust", w.slowest.Round(time.Millisecond).String(), "<= "+stormRecovery.String(), w.slowest <= stormRecovery)
	for i, h := range res.Run.Hosts {
		first, ok := res.Host(i).First(w.healed)
		if took := time.Duration(first.Answered - w.healed); !ok || took > stormRecovery {
			res.Fail("%s served %v after everything was healed (%t)", h.Name, took.Round(time.Millisecond), ok)
		}
		noneFailed(res, i, w.served, res.Drill.Ended)
	}
	res.Recovered(w.slowest)
}

// eachName calls do for all names at once and returns the errors joined.
func eachName(names []string, do func(name string) error) error {
	var all sync.WaitGroup
	errs := make([]error, len(names))
	for i, name := range names {
		all.Go(func() { errs[i] = do(name) })
	}
	all.Wait()
	return errors.Join(errs...)
}
