//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/daemon/journal"
	"github.com/flakeward/flakeward/generator"
)

func init() {
	register(Drill{
		Name: "coordinator-wiped",
		What: "the coordinator loses all its data under running daemons, one of which had its clock an hour ahead: they stop and say so, a start " +
			"refuses and names both clusters, and with --accept-cluster none goes below its own journal",
		// A clock that is an hour ahead is believed, and issued from.
		Options: Options{Window: wipedWindow, MaxBlock: 500 * time.Millisecond, Daemon: []string{"--trust-clock"}, Lead: -1},
		Script:  wipe,
		Judge:   judgeWiped,
	})
}

// wipedWindow is short enough to wait for the end of the grants: until then IDs of the old cluster
// and of the new one may meet.
const wipedWindow = 8 * time.Second

type wiping struct {
	emptied, returned evidence.Mono // from, and until, there was no coordinator
	stopped           [MaxHosts]evidence.Mono
	oldMarks          [MaxHosts]journal.Contents
	started           [MaxHosts]evidence.Mono
	ahead             *Host // whose clock was
	worker            int   // the worker ID that it had then
}

var wipings notes[wiping]

// acceptable finds the way on in the refusal of a start.
var acceptable = regexp.MustCompile(`start with --accept-cluster ([0-9a-f-]{36})`)

func wipe(ctx context.Context, r *Run) {
	seen := wipings.of(r)
	had := seen.goAhead(ctx, r)
	r.Step("wiping the coordinator of cluster %s", had.cluster)
	seen.emptied = evidence.Now()
	must(r.Members.Wipe(ctx))
	seen.returned = evidence.Now()
	r.Step("the members are back, with nothing; waiting for all daemons to stop")
	must(Each(r.Hosts, func(h *Host) error { return untilWiped(ctx, r, h, seen) }))
	r.Step("all have stopped; waiting for the end of the grants that they had")
	must(r.Last(ctx, wipedWindow-time.Duration(evidence.Now()-seen.emptied)))
	for _, h := range r.Hosts {
		seen.oldMarks[h.Index] = mustGet(h.Journal(ctx))
	}
	must(seen.ahead.SetClock(ctx, 0))
	found := refused(ctx, r, seen.ahead, had.cluster)
	accept := func(h *Host) error {
		seen.started[h.Index] = evidence.Now()
		if err := h.Start(ctx, "--accept-cluster="+found); err != nil {
			return err
		}
		return h.AwaitIDs(ctx, 1000)
	}
	r.Step("%s is started with --accept-cluster %s; its clock is right again", seen.ahead.Name, found)
	must(accept(seen.ahead))
	r.Step("it serves; so are the others")
	must(Each(r.Others(seen.ahead), accept))
	must(Each(r.Hosts, func(h *Host) error {
		now, err := holds(ctx, h)
		if err == nil && now.cluster != found {
			err = fmt.Errorf("%s accepted cluster %s and is in %q", h.Name, found, now.cluster)
		}
		return err
	}))
}

// goAhead sets a clock an hour ahead: that of the host whose worker ID was assigned first. That one
// is assigned first in a new cluster as well, which knows nothing of the hour; the host's own
// journal does.
func (s *wiping) goAhead(ctx context.Context, r *Run) (had held) {
	for _, h := range r.Hosts {
		now := mustGet(holds(ctx, h))
		if s.ahead == nil || now.worker < had.worker {
			s.ahead, s.worker, had = h, now.worker, now
		}
	}
	r.Step("the clock of %s, which holds worker ID %d, goes an hour ahead", s.ahead.Name, s.worker)
	must(s.ahead.SetClock(ctx, time.Hour))
	must(granted(ctx, r, s.ahead))
	before := mustGet(s.ahead.Journal(ctx))
	// The journal has been written anew, and IDs of the hour ahead have been issued.
	must(lookUntil(ctx, r, "a mark that is an hour ahead", func() error {
		c, err := s.ahead.Journal(ctx)
		switch {
		case err != nil:
			return err
		case len(c.Lanes) == 0 || len(before.Lanes) == 0 || c.Lanes[0].Mark <= max(before.Lanes[0].Mark, had.ceiling):
			return fmt.Errorf("it has %+v", c.Lanes)
		}
		return nil
	}))
	return had
}

// untilWiped waits until a daemon has stopped and said why: with its end; or, where the servers
// turn it away for having seen more than they have, as ZooKeeper's may, with what it refuses
// requests with at the end of its grant.
func untilWiped(ctx context.Context, r *Run, h *Host, seen *wiping) error {
	return lookUntil(ctx, r, h.Name+" to say that the coordinator was wiped, and to stop", func() error {
		running, status, err := h.Running(ctx)
		if err != nil {
			return err
		}
		if !running {
			text, err := h.Log(ctx)
			switch {
			case err != nil:
				return err
			case status == 0:
				return errors.New("it has ended with success")
			}
			seen.stopped[h.Index] = evidence.Now()
			return says(h.Name, text, "was wiped or replaced")
		}
		if r.Coordinator == "etcd" {
			return errors.New("it runs")
		}
		soon, cancel := context.WithTimeout(ctx, logEvery)
		defer cancel()
		if _, err := h.Await(soon, func(reply evidence.Reply) bool {
			return reply.Outcome == evidence.Refused && says("", reply.Text, "since ", "was not granted more", "as after a wipe") == nil
		}); err != nil {
			return fmt.Errorf("it does not refuse with what it suspects: %w", err)
		}
		seen.stopped[h.Index] = evidence.Now()
		return h.Kill(ctx) // if it ended by itself in between, the next look finds it so
	})
}

// refused starts a daemon as it was started before, which must refuse and name both clusters, and
// returns the new one's UUID.
func refused(ctx context.Context, r *Run, h *Host, old string) string {
	r.Step("%s is started as before: it must refuse", h.Name)
	before := mustGet(h.Log(ctx))
	must(h.Start(ctx))
	var found string
	must(lookUntil(ctx, r, h.Name+" to refuse", func() error {
		running, status, err := h.Running(ctx)
		if err != nil || running {
			return errors.Join(err, errors.New("it runs"))
		}
		text, err := h.Log(ctx)
		if err != nil {
			return err
		}
		text = text[len(before):]
		m := acceptable.FindStringSubmatch(text)
		if m == nil || status == 0 {
			return fmt.Errorf("it ended with %d and said: %s", status, text)
		}
		found = m[1]
		return says(h.Name, text, "cluster "+old, "cluster "+found)
	}))
	if found == old {
		fail("%s names the cluster that it was in, %s, as the new one", h.Name, old)
	}
	return found
}

func judgeWiped(res *Result) {
	seen := wipings.of(res.Run)
	if len(res.Past) != 1 || len(res.Past[0]) == 0 || len(res.History) == 0 {
		res.Fail("the drill is void: %d histories of before the wipe, %d versions after it", len(res.Past), len(res.History))
	}
	again := slices.ContainsFunc(res.History, func(v history.Version) bool { return v.Worker == seen.worker })
	res.Figure("the worker ID whose marks were an hour ahead was assigned again", fmt.Sprint(again), "true", again)
	var slowest time.Duration
	for i, h := range res.Run.Hosts {
		slowest = max(slowest, time.Duration(seen.stopped[i]-seen.returned))
		if n := res.Host(i).IDs(seen.stopped[i], seen.started[i]); n > 0 {
			res.Fail("%s issued %d IDs after it had said that it stopped, and before it was told to go on", h.Name, n)
		}
		oldMarks := map[int]generator.Tick{}
		for _, e := range seen.oldMarks[i].Lanes {
			oldMarks[e.Worker] = e.Mark
		}
		for _, reply := range res.Host(i).Replies {
			if reply.Asked < seen.started[i] {
				continue
			}
			for _, run := range reply.IDs {
				p, err := res.Run.Layout.Decompose(run.First)
				if err != nil {
					res.Fail("%s issued %d: %v", h.Name, run.First, err)
					return
				}
				if mark := oldMarks[int(p.Worker)]; p.Tick <= mark {
					res.Fail("%s issued %d, of tick %d of worker ID %d, in the new cluster; its journal had %d for it", h.Name, run.First, p.Tick, p.Worker, mark)
					return
				}
			}
		}
		if first, ok := res.Host(i).First(seen.started[i]); ok {
			res.Recovered(time.Duration(first.Answered - seen.started[i]))
		}
	}
	if res.Run.Coordinator == "etcd" {
		within(res, "all daemons had stopped after the members were back", slowest, time.Second, 10*time.Second)
	} else {
		res.Figure("all daemons had stopped, at the end of their grants, after the members were back", slowest.Round(time.Millisecond).String(), "", true)
	}
}
