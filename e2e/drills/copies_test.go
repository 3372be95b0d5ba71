//go:build e2e

package drills

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

func init() {
	register(
		Drill{
			Name: "copied",
			What: "the state of a running daemon is copied into another container, three times: while it runs, is cut off, and is paused. " +
				"The copy serves from another worker ID, and the original keeps its own",
			// As long as ZooKeeper's members allow: nothing that is done to the original should end
			// its session. A copy that is believed serves after the journal's mark: the original
			// must not have published by then, or there is nothing to see.
			Options: Options{TTL: 10 * time.Second, Publish: 3 * time.Second, Client: calmly},
			Script:  copiedBeside,
			Judge:   judgeCopied,
		},
		Drill{
			Name:    "made-anew",
			What:    "a daemon is killed and its container made anew on the same volume: it goes on with the worker ID that it had",
			Options: Options{Client: calmly},
			Script:  madeAnew,
			Judge:   judgeMadeAnew,
		},
	)
}

// calmly has clients ask for a quarter of what they do otherwise: these drills are about who
// issues, not how much.
var calmly = []string{"--load=0.25"}

// movedText is what a daemon says of a journal that was not written where it is.
const movedText = "the journal was not written here"

// duplicate is a daemon that was started on a copy of another's state.
type duplicate struct {
	what           string
	started, ended evidence.Mono
}

// beside is what came of all of them.
type beside struct {
	worker      int    // the original's
	incarnation string // as claims' names have it
	copies      []duplicate
}

var besides notes[beside]

func copiedBeside(ctx context.Context, r *Run) {
	seen, original, copied := besides.of(r), r.Hosts[0], r.Hosts[2]
	must(all(ctx, r.Hosts, 1000))
	info := mustGet(original.Info(ctx))
	had := mustGet(holds(ctx, original))
	seen.worker, seen.incarnation = had.worker, strings.ReplaceAll(info["incarnation"], "-", "")
	for _, state := range []struct {
		what       string
		begin, end func(context.Context) error
	}{
		{"running", nil, nil},
		{"cut off", func(ctx context.Context) error { return original.Cut(ctx, Both) }, original.Heal},
		{"paused", original.Pause, original.Resume},
	} {
		must(copied.Kill(ctx))
		must(copied.PutBack(ctx, mustGet(original.SaveState())))
		if state.begin != nil {
			must(state.begin(ctx))
		}
		now := r.copyStarted(ctx, original, copied, state.what)
		if state.end != nil {
			must(state.end(ctx))
		}
		must(all(ctx, r.Hosts, 1000))
		now.ended = evidence.Now()
		seen.copies = append(seen.copies, now)
	}
	if said := movedSaid(ctx, copied); said != len(seen.copies) {
		fail("%s has said %d times that it runs on a copy, and was started on %d", copied.Name, said, len(seen.copies))
	}
	must(granted(ctx, r, original))
	if last := mustGet(holds(ctx, original)); last.worker != had.worker {
		fail("%s had worker ID %d, and has %d", original.Name, had.worker, last.worker)
	}
}

// copyStarted starts a daemon that has a copy of the state of another, and waits for IDs.
func (r *Run) copyStarted(ctx context.Context, original, copied *Host, what string) duplicate {
	now := duplicate{what: what}
	must(copied.Start(ctx))
	now.started = mustGet(copied.Started(ctx))
	r.Step("%s starts on a copy of the state of %s, which is %s", copied.Name, original.Name, what)
	must(copied.AwaitIDs(ctx, 1000))
	return now
}

// movedSaid is how often a host's daemons have found that their journal was not written there.
func movedSaid(ctx context.Context, h *Host) int {
	text, err := h.Log(ctx)
	if err != nil {
		return -1
	}
	return strings.Count(text, movedText)
}

func judgeCopied(res *Result) {
	seen := besides.of(res.Run)
	noneFailed(res, 1, res.Drill.Began, res.Drill.Ended)
	for _, c := range seen.copies {
		if c.what != "paused" {
			noneFailed(res, 0, c.started, c.ended)
		}
		if has := answeredFrom(res, 2, c.started, c.ended); len(has) == 0 || slices.Contains(has, seen.worker) {
			res.Fail("%s: the copy served from the worker IDs %v, and %d is the original's", c.what, has, seen.worker)
		}
		first, _ := res.Host(2).First(c.started)
		within(res, c.what+": the copy serves after", time.Duration(first.Answered-c.started), restartAim, 2*busy)
	}
	if seen.incarnation == "" {
		res.Fail("the drill is void: nobody knows what the original's claims are called")
	}
	for _, v := range res.History {
		if v.Worker == seen.worker && v.Holder != "" && !strings.Contains(v.Claim, seen.incarnation) {
			res.Fail("worker ID %d, which is the original's, was opened by the claim %s of another daemon", v.Worker, v.Claim)
		}
	}
}

// anew is a daemon whose container was made anew.
type anew struct {
	worker         int
	started, ended evidence.Mono
}

var anews notes[anew]

func madeAnew(ctx context.Context, r *Run) {
	seen, h := anews.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	had := mustGet(holds(ctx, h))
	seen.worker = had.worker
	must(h.Kill(ctx))
	killed := evidence.Now()
	must(h.StartAnew(ctx))
	seen.started = mustGet(h.Started(ctx))
	must(h.AwaitIDs(ctx, 1000))
	seen.ended = evidence.Now()
	r.Step("%s was killed and its container made anew, %v after that", h.Name, time.Duration(seen.started-killed).Round(time.Millisecond))
	if movedSaid(ctx, h) != 0 {
		fail("%s takes its own journal for a copy", h.Name)
	}
	must(granted(ctx, r, h))
}

func judgeMadeAnew(res *Result) {
	seen := anews.of(res.Run)
	for _, h := range res.Run.Hosts[1:] {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	if has := answeredFrom(res, 0, seen.started, seen.ended); !slices.Equal(has, []int{seen.worker}) {
		res.Fail("it had worker ID %d, and serves from %v in its new container", seen.worker, has)
	}
	first, ok := res.Host(0).First(seen.started)
	if !ok {
		res.Fail("it serves no more")
		return
	}
	within(res, "serving after the start of the new container", time.Duration(first.Answered-seen.started), anewAim, 2*busy)
}

// anewAim is how soon a daemon whose container was made anew serves: a journal's step, a tick, and
// the start itself.
const anewAim = 1300 * time.Millisecond
