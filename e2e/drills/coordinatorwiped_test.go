//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

func init() {
	register(Drill{
		Name: "coordinator-wiped",
		What: "the coordinator loses all its data under running daemons: each ends with status 2 and says why; started again, each waits, says the command " +
			"that makes a cluster, and makes none; in the cluster that is made then, no ID is as low as one of before",
		Options: Options{Window: wipedWindow, MaxBlock: 500 * time.Millisecond, Lead: -1},
		Script:  wipe,
		Judge:   judgeWiped,
	})
}

// wipedWindow is short enough to wait for the end of the grants: until then daemons may issue IDs of the
// old cluster.
const wipedWindow = 8 * time.Second

type wiping struct {
	returned evidence.Mono    // from when on the coordinator was there, and empty
	stopped  [3]evidence.Mono // by host
	made     evidence.Mono
}

var wipings notes[wiping]

func wipe(ctx context.Context, r *Run) {
	seen := wipings.of(r)
	had := mustGet(holds(ctx, r.Hosts[0]))
	r.Step("wiping the coordinator of cluster %s", had.cluster)
	emptied := evidence.Now()
	must(r.Members.Wipe(ctx))
	seen.returned = evidence.Now()
	r.Step("the members are back, with nothing; waiting for all daemons to end")
	must(Each(r.Hosts, func(h *Host) error {
		return lookUntil(ctx, r, h.Name+" to say that the coordinator was wiped, and to end", func() error {
			running, status, err := h.Running(ctx)
			switch {
			case err != nil:
				return err
			case running:
				return errors.New("it runs")
			case status != 2:
				return fmt.Errorf("it has ended with status %d, want 2", status)
			}
			seen.stopped[h.Index] = evidence.Now()
			return says(h.Name, mustGet(h.Log(ctx)), "was wiped or replaced")
		})
	}))
	r.Step("all have ended; they are started again, and wait for a cluster")
	must(Each(r.Hosts, func(h *Host) error {
		before := mustGet(h.Log(ctx))
		if err := h.Start(ctx); err != nil {
			return err
		}
		return lookUntil(ctx, r, h.Name+" to say what makes a cluster", func() error {
			text, err := h.Log(ctx)
			if err != nil {
				return err
			}
			return says(h.Name, text[len(before):], "no-cluster", "flakeward cluster create")
		})
	}))
	must(r.Last(ctx, wipedWindow-time.Duration(evidence.Now()-emptied)))
	must(Each(r.Hosts, func(h *Host) error {
		running, status, err := h.Running(ctx)
		if err == nil && !running {
			err = fmt.Errorf("%s has ended with %d, and should wait", h.Name, status)
		}
		return err
	}))
	r.Step("the grants of before have ended; the cluster is made")
	seen.made = evidence.Now()
	must(r.operate(ctx, "cluster", "create", "--timeout", "1m", "--empty"))
	must(Each(r.Hosts, func(h *Host) error { return h.AwaitIDs(ctx, 1000) }))
	var made string
	for _, h := range r.Hosts {
		now := mustGet(holds(ctx, h))
		if now.cluster == had.cluster || made != "" && now.cluster != made {
			fail("%s is in cluster %s, another in %q, and before they were in %s", h.Name, now.cluster, made, had.cluster)
		}
		made = now.cluster
	}
}

func judgeWiped(res *Result) {
	seen := wipings.of(res.Run)
	if len(res.Past) != 1 || len(res.Past[0]) == 0 || len(res.History) == 0 {
		res.Fail("the drill is void: %d histories of before the wipe, %d versions after it", len(res.Past), len(res.History))
	}
	var slowest time.Duration
	var highest generator.Tick
	lowest := res.Run.Layout.MaxTick()
	for i, h := range res.Run.Hosts {
		slowest = max(slowest, time.Duration(seen.stopped[i]-seen.returned))
		if n := res.Host(i).IDs(seen.stopped[i], seen.made); n > 0 {
			res.Fail("%s issued %d IDs after it had ended, and before there was a cluster", h.Name, n)
		}
		for _, reply := range res.Host(i).Replies {
			for _, run := range reply.IDs {
				p, err := res.Run.Layout.Decompose(run.First)
				switch {
				case err != nil:
					res.Fail("%s issued %d: %v", h.Name, run.First, err)
					return
				case reply.Answered < seen.made:
					highest = max(highest, p.Tick)
				default:
					lowest = min(lowest, p.Tick)
				}
			}
		}
		if first, ok := res.Host(i).First(seen.made); ok {
			res.Recovered(time.Duration(first.Answered - seen.made))
		}
	}
	if lowest <= highest {
		res.Fail("the new cluster issued an ID of tick %d, and the old one of %d", lowest, highest)
	}
	within(res, "all daemons had ended after the members were back", slowest, time.Second, time.Minute)
}
