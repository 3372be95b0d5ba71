//go:build e2e

package drills

import (
	"context"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

func init() {
	register(
		Drill{
			Name: "cut-off",
			What: "a daemon is cut off from the coordinator for longer than its session, and then for longer than its window: " +
				"it issues to the end of its grant, says why no further, and serves again once it is healed",
			Options: Options{Window: cutWindow, MaxBlock: 500 * time.Millisecond},
			Script:  cutOff,
			Judge:   judgeCutOff,
		},
		Drill{
			Name: "cut-one-way",
			What: "first all that comes from the coordinator is dropped, for longer than a session, then all that goes to it: " +
				"no request fails, and the worker ID is claimed again",
			Options: Options{Window: time.Minute},
			Script:  cutOneWay,
			Judge: func(res *Result) {
				noneFailedAnywhere(res)
				res.Stall(res.Host(0).LongestStall(res.Drill.Began, res.Drill.Ended))
				for _, cut := range oneWays.of(res.Run).cuts {
					res.Figure("packets "+string(cut.direction)+" dropped", fmt.Sprintf("%d in %v", cut.dropped, cut.lasted.Round(time.Millisecond)), "", true)
					res.Figure("claimed again after the heal", cut.back.Round(time.Millisecond).String(), "<= 2s", cut.back <= 2*time.Second)
				}
			},
		},
	)
}

// cutWindow outlasts a session of a daemon that was cut off, by much.
const cutWindow = 7 * time.Second

type partition struct {
	had                         held
	cut, lapsed, refused, heals evidence.Mono
	text                        string
	ceiling                     generator.Tick // of its grant, as it ended
	now                         held
}

var partitions notes[partition]

func cutOff(ctx context.Context, r *Run) {
	seen := partitions.of(r)
	h := r.Hosts[0]
	seen.had = mustGet(holds(ctx, h))
	r.Step("cutting %s off from the coordinator", h.Name)
	must(h.Cut(ctx, Both))
	seen.cut = evidence.Now()
	must(lapsed(ctx, r, seen.had.claim))
	seen.lapsed = evidence.Now()
	r.Step("its session has ended; it goes on to issue")
	must(h.AwaitIDs(ctx, 1000))
	refusal := mustGet(h.AwaitRefusal(ctx))
	seen.refused, seen.text = refusal.Asked, refusal.Text
	r.Step("its grant has ended, and it says: %s", refusal.Text)
	seen.ceiling = mustGet(holds(ctx, h)).ceiling
	must(h.AwaitNone(ctx, 500*time.Millisecond))
	r.Step("healing")
	seen.heals = evidence.Now() // packets pass before it is done
	must(h.Heal(ctx))
	mustGet(h.AwaitAnswer(ctx))
	seen.now = mustGet(reclaimed(ctx, r, h, seen.had))
	r.Step("it serves, with worker ID %d; it had %d", seen.now.worker, seen.had.worker)
	must(all(ctx, r.Hosts, 1000))
}

func judgeCutOff(res *Result) {
	seen := partitions.of(res.Run)
	noneFailed(res, 0, res.Drill.Began, seen.lapsed)
	for _, h := range res.Run.Others(res.Run.Hosts[0]) {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	cut := res.Host(0)
	failed := cut.Failed(seen.lapsed, seen.heals)
	if len(failed) == 0 {
		res.Fail("the drill is void: no request failed")
		return
	}
	ceiling, last := seen.ceiling, generator.Tick(0)
	for _, reply := range cut.Replies {
		for _, run := range reply.IDs {
			if p, err := res.Run.Layout.Decompose(run.First); err == nil && reply.Answered < seen.heals {
				last = max(last, p.Tick)
			}
		}
	}
	early := time.Duration(ceiling-last) * res.Run.Layout.TickLength()
	within(res, "time left of its grant when it stopped", early, 20*time.Millisecond, 2*time.Second)
	if last > ceiling {
		res.Fail("it issued tick %d, and its grant ended with %d", last, ceiling)
	}
	res.Figure("issued after it was cut off, with a window of "+cutWindow.String(), time.Duration(failed[0].Asked-seen.cut).Round(time.Millisecond).String(), "", true)
	if n := cut.IDs(seen.lapsed, failed[0].Asked); n < 1000 {
		res.Fail("it issued %d IDs between the end of its session and that of its grant", n)
	}
	if err := says("the refusal", seen.text, "since ", "try again later", res.Run.Members.Names()[0]); err != nil {
		res.Fail("%v", err)
	}
	res.Stall(time.Duration(seen.heals - failed[0].Asked)) // nothing else could be done
	first, ok := cut.First(seen.heals)
	if !ok {
		res.Fail("no ID after the heal")
		return
	}
	took := time.Duration(first.Answered - seen.heals)
	res.Recovered(took)
	within(res, "IDs after the heal", took, 2*time.Second, 10*time.Second)
	if seen.now.claim == seen.had.claim || seen.now.opening != seen.had.opening {
		res.Fail("it had opening %s by claim %s, and has %s by %s: the claim that ended with its session is to be made again, and its grant to go on",
			seen.had.opening, seen.had.claim, seen.now.opening, seen.now.claim)
	}
}

type oneWay struct {
	direction    Direction
	dropped      uint64 // packets, in that direction
	lasted, back time.Duration
}

var oneWays notes[struct{ cuts []oneWay }]

func cutOneWay(ctx context.Context, r *Run) {
	seen := oneWays.of(r)
	h := r.Hosts[0]
	for _, d := range []Direction{In, Out} {
		had := mustGet(holds(ctx, h))
		r.Step("dropping the packets %s of %s", d, h.Name)
		must(h.Cut(ctx, d))
		begun := evidence.Now()
		must(lapsed(ctx, r, had.claim))
		must(h.AwaitIDs(ctx, 1000))
		r.Step("its session has ended, and it issues; healing")
		healed := evidence.Now() // packets pass before it is done
		must(h.Heal(ctx))
		dropped := mustGet(droppedOnly(h, d))
		now := mustGet(reclaimed(ctx, r, h, had))
		if now.worker != had.worker {
			fail("%s had worker ID %d, which nobody took, and holds %d", h.Name, had.worker, now.worker)
		}
		seen.cuts = append(seen.cuts, oneWay{d, dropped, time.Duration(healed - begun), time.Duration(evidence.Now() - healed)})
	}
	must(all(ctx, r.Hosts, 1000))
}

// droppedOnly is how many packets the cut dropped in its direction; some, and in the other
// direction none, or the drill is void.
func droppedOnly(h *Host, d Direction) (uint64, error) {
	in, out, err := h.Dropped()
	if err != nil {
		return 0, err
	}
	along, against := in, out
	if d == Out {
		along, against = out, in
	}
	if along == 0 || against != 0 {
		return 0, fmt.Errorf("the drill is void: only packets %s of %s were to be dropped, and %d in and %d out were", d, h.Name, in, out)
	}
	return along, nil
}
