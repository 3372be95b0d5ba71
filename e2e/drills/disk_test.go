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
		Name: "disk-lost",
		What: "a daemon is killed, all that it has on its host's disk is lost, and it starts with its clock behind and no other " +
			"worker ID to be had: it waits for the end of what its record was granted and issues above that",
		// As many worker IDs as daemons, so that it has to be the same again.
		Options: Options{Hosts: 2, Layout: "time=41@1ms,worker=1,sequence=21;epoch=2026-01-01", Window: lostWindow, MaxBlock: time.Second},
		Script:  diskLost,
		Judge:   judgeDiskLost,
	})
}

// loss is one host's disk that was lost.
type loss struct {
	worker  int
	ceiling generator.Tick // of its record, when it was dead
	started evidence.Mono
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
