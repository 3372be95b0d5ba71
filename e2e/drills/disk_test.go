//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

func init() {
	register(
		Drill{
			Name: "disk-lost",
			What: "a daemon is killed, all that it has on its host's disk is lost, and it starts with its clock behind and no other " +
				"worker ID to be had: it waits for the end of what its record was granted and issues above that",
			// As many worker IDs as daemons, so that it has to be the same again.
			Options: Options{Hosts: 2, Layout: "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01", Window: lostWindow, MaxBlock: time.Second},
			Script:  diskLost,
			Judge:   judgeDiskLost,
		},
		Drill{
			Name:    "made-anew",
			What:    "a daemon is stopped, all that it has on its host's disk is lost, and its container is made anew: it has the same worker ID",
			Options: Options{Client: calmly},
			Script:  madeAnew,
			Judge:   judgeMadeAnew,
		},
		Drill{
			Name: "copied",
			What: "all that a running daemon has on its host's disk is copied to another host, three times: while it runs, is cut off, and is paused. " +
				"The copy serves from another worker ID, and the original keeps its own",
			// As long as ZooKeeper's members allow: nothing that is done to the original should end
			// its session.
			Options: Options{TTL: 10 * time.Second, Client: calmly},
			Script:  copied,
			Judge:   judgeCopied,
		},
	)
}

// calmly has clients ask for a quarter of what they do otherwise: these drills are about who
// issues, not how much.
var calmly = []string{"--load=0.25"}

// loss is one host's disk that was lost.
type loss struct {
	worker         int
	ceiling        generator.Tick // of its record, when it was dead
	started, ended evidence.Mono
}

var losses notes[loss]

const (
	lostWindow = 5 * time.Second
	// lostBehind is more than a session lasts: when the worker ID can be claimed again, the clock
	// is at what was issued before.
	lostBehind = 4 * time.Second
)

func diskLost(ctx context.Context, r *Run) {
	seen, h := losses.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	r.Step("%s is killed, its disk is lost, and it is started with its clock %v behind", h.Name, lostBehind)
	seen.worker, seen.ceiling = h.killed(ctx, r)
	must(h.LoseDisk(ctx))
	must(h.SetClock(ctx, -lostBehind))
	seen.started = evidence.Now()
	must(h.Start(ctx))
	// It may take so long to start that there is nothing left to wait for: then nobody is refused,
	// and it is right.
	reply, err := h.Await(ctx, func(reply evidence.Reply) bool {
		return reply.Outcome == evidence.Refused || reply.Outcome == evidence.Got
	})
	if err != nil {
		must(h.vain(err, "a refusal or IDs"))
	}
	if reply.Outcome == evidence.Refused {
		r.Step("it says: %s", reply.Text)
	} else {
		r.Step("it gave IDs and refused nobody")
	}
	wait := time.Duration(instantOf(r.Layout, h, seen.ceiling) - evidence.Now()).Round(time.Millisecond)
	r.Step("its record was granted to %d, which its clock passes in %v", seen.ceiling, wait)
	mustGet(h.AwaitAnswer(ctx))
	must(all(ctx, r.Hosts, 1000))
}

// lowest is the lowest tick of a reply's IDs, and the worker ID that they are from.
func lowest(r *Run, reply evidence.Reply) (generator.Tick, int, error) {
	if len(reply.IDs) == 0 {
		return 0, 0, errors.New("a reply without IDs")
	}
	tick, worker := r.Layout.MaxTick(), 0
	for _, run := range reply.IDs {
		parts, err := r.Layout.Decompose(run.First)
		if err != nil {
			return 0, 0, err
		}
		if parts.Tick <= tick {
			tick, worker = parts.Tick, int(parts.Worker)
		}
	}
	return tick, worker, nil
}

func judgeDiskLost(res *Result) {
	seen := losses.of(res.Run)
	noneFailed(res, 1, res.Drill.Began, res.Drill.Ended)
	first, _ := res.Host(0).First(seen.started)
	tick, worker, err := lowest(res.Run, first)
	switch {
	case err != nil:
		res.Fail("%v", err)
	case worker != seen.worker:
		res.Fail("the drill is void: there was another worker ID, %d for %d", worker, seen.worker)
	case tick <= seen.ceiling:
		res.Fail("tick %d was issued, and the record of worker ID %d was granted to %d before", tick, worker, seen.ceiling)
	}
	// The other way to have never issued an ID twice is to wait for no reason.
	end := instantOf(res.Run.Layout, res.Run.Hosts[0], seen.ceiling+1)
	refused := res.Host(0).Failed(seen.started, first.Asked, evidence.Refused)
	res.Figure("requests refused until then", fmt.Sprint(len(refused)), ">= 1", len(refused) > 0)
	within(res, "serving after the end of the old grant", max(0, time.Duration(first.Answered-max(end, seen.started))), time.Second, 2*busy)
}

func madeAnew(ctx context.Context, r *Run) {
	seen, h := losses.of(r), r.Hosts[0]
	must(all(ctx, r.Hosts, 1000))
	had := mustGet(holds(ctx, h))
	seen.worker = had.worker
	r.Step("%s is stopped, its disk is lost, and its container is made anew", h.Name)
	must(h.Stop(ctx))
	must(h.LoseDisk(ctx))
	must(h.StartAnew(ctx))
	seen.started = mustGet(h.Started(ctx))
	must(h.AwaitIDs(ctx, 1000))
	seen.ended = evidence.Now()
	must(granted(ctx, r, h))
}

func judgeMadeAnew(res *Result) {
	seen := losses.of(res.Run)
	for _, h := range res.Run.Hosts[1:] {
		noneFailed(res, h.Index, res.Drill.Began, res.Drill.Ended)
	}
	if has := answeredFrom(res, 0, seen.started, seen.ended); !slices.Equal(has, []int{seen.worker}) {
		res.Fail("it had worker ID %d, and serves from %v in its new container", seen.worker, has)
	}
	first, _ := res.Host(0).First(seen.started)
	within(res, "serving after the start of the new container", time.Duration(first.Answered-seen.started), restartAim, 2*busy)
}

// duplicate is a daemon that was started on a copy of another's disk.
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

func copied(ctx context.Context, r *Run) {
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
		must(copied.CopyDisk(ctx, original))
		if state.begin != nil {
			must(state.begin(ctx))
		}
		now := duplicate{what: state.what}
		must(copied.Start(ctx))
		now.started = mustGet(copied.Started(ctx))
		r.Step("%s starts on a copy of the disk of %s, which is %s", copied.Name, original.Name, state.what)
		must(copied.AwaitIDs(ctx, 1000))
		if state.end != nil {
			must(state.end(ctx))
		}
		must(all(ctx, r.Hosts, 1000))
		now.ended = evidence.Now()
		seen.copies = append(seen.copies, now)
	}
	must(granted(ctx, r, original))
	if last := mustGet(holds(ctx, original)); last.worker != had.worker {
		fail("%s had worker ID %d, and has %d", original.Name, had.worker, last.worker)
	}
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
