//go:build e2e

package drills

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// notes are what a script saw and its judge has to know. One drill runs on several coordinators at
// once, so they are kept by run.
type notes[T any] struct{ runs sync.Map }

func (n *notes[T]) of(r *Run) *T {
	v, _ := n.runs.LoadOrStore(r, new(T))
	return v.(*T)
}

// lookEvery lies between two looks at something that has no event to wait for.
const lookEvery = 100 * time.Millisecond

// lookUntil looks until ready says so. The error says what was waited for, and what was in the way
// at the last look.
func lookUntil(ctx context.Context, r *Run, what string, ready func() error) error {
	for {
		err := ready()
		if err == nil {
			return nil
		}
		if r.Last(ctx, lookEvery) != nil {
			return fmt.Errorf("waiting for %s: %w: %w", what, err, context.Cause(ctx))
		}
	}
}

// held is what a daemon says of the worker ID that it issues from.
type held struct {
	worker         int // -1: none
	claimed        bool
	claim, opening string
	cluster        string
	floor, ceiling generator.Tick
	condition      string
}

func holds(ctx context.Context, h *Host) (held, error) {
	info, err := h.Info(ctx)
	if err != nil {
		return held{}, fmt.Errorf("%s: INFO: %w", h.Name, err)
	}
	s := held{
		claimed: info["claimed"] == "true", claim: info["claim"], opening: info["opening"],
		cluster: info["cluster_id"], condition: info["condition"],
	}
	var floor, ceiling int64
	s.worker, err = strconv.Atoi(info["worker_id"])
	for key, n := range map[string]*int64{"floor": &floor, "ceiling": &ceiling} {
		var bad error
		*n, bad = strconv.ParseInt(info[key], 10, 64)
		err = errors.Join(err, bad)
	}
	s.floor, s.ceiling = generator.Tick(floor), generator.Tick(ceiling)
	if err != nil {
		return s, fmt.Errorf("%s: INFO: %w", h.Name, err)
	}
	return s, nil
}

// granted waits until each of the hosts has been granted more than it had, or has no need of more:
// the coordinator answers it.
func granted(ctx context.Context, r *Run, hosts ...*Host) error {
	return Each(hosts, func(h *Host) error {
		var before held
		return lookUntil(ctx, r, h.Name+" to be granted more", func() error {
			now, err := holds(ctx, h)
			if err != nil {
				return err
			}
			clock := time.Now().Add(h.Offset() + 2*r.options.Window)
			if err := grew(&before, now, r.Layout.TickAt(clock.UnixNano())); err != nil {
				return fmt.Errorf("%s %w", h.Name, err)
			}
			return nil
		})
	})
}

// grew is an error until a host is seen to have been granted more than before, which is what it
// held when it was first looked at, or to hold a grant that ends after enough. So far ahead ends a
// grant that was extended just before a clock that was an hour ahead came back, and with nothing
// issued there it is kept: there is no more to ask for until then.
func grew(before *held, now held, enough generator.Tick) error {
	first := before.ceiling == 0
	if first {
		*before = now
	}
	switch {
	case now.condition != "":
		return fmt.Errorf("has the condition: %s", now.condition)
	case now.claimed && now.ceiling > enough:
		return nil
	case first:
		return errors.New("was not looked at before")
	case now.ceiling <= before.ceiling:
		return fmt.Errorf("had a grant to %d and has one to %d", before.ceiling, now.ceiling)
	}
	return nil
}

// awaitUnreachable waits until each of the hosts says that the coordinator does not answer it.
func awaitUnreachable(ctx context.Context, r *Run, hosts ...*Host) error {
	return Each(hosts, func(h *Host) error {
		return lookUntil(ctx, r, h.Name+" to miss the coordinator", func() error {
			now, err := holds(ctx, h)
			if err == nil && now.condition == "" {
				err = errors.New("it has no condition")
			}
			return err
		})
	})
}

// lapsed waits until the coordinator has ended the session of a claim.
func lapsed(ctx context.Context, r *Run, claim string) error {
	return lookUntil(ctx, r, "the end of the session of claim "+claim, func() error {
		claims, err := r.Claims(ctx)
		if err == nil && slices.Contains(claims, claim) {
			err = errors.New("the claim is there")
		}
		return err
	})
}

// reclaimed waits until a host holds a claim other than the one it had.
func reclaimed(ctx context.Context, r *Run, h *Host, had held) (now held, err error) {
	err = lookUntil(ctx, r, h.Name+" to claim again", func() error {
		now, err = holds(ctx, h)
		if err == nil && (!now.claimed || now.claim == had.claim || now.condition != "") {
			err = fmt.Errorf("it holds worker ID %d by claim %s: %q", now.worker, now.claim, now.condition)
		}
		return err
	})
	return now, err
}

// all waits until n more IDs have arrived from each of the hosts.
func all(ctx context.Context, hosts []*Host, n int) error {
	return Each(hosts, func(h *Host) error { return h.AwaitIDs(ctx, n) })
}

// says reports what is missing in a text that must have all of parts.
func says(who, text string, parts ...string) error {
	for _, p := range parts {
		if !strings.Contains(text, p) {
			return fmt.Errorf("%s should say %q, and says: %s", who, p, text)
		}
	}
	return nil
}

// refusalThat waits for a refusal, of a request that was sent after now, that says all of parts. On
// a slow machine one may come before it that is about something else.
func refusalThat(ctx context.Context, h *Host, says ...string) (evidence.Reply, error) {
	last := "nothing"
	reply, err := h.Await(ctx, func(reply evidence.Reply) bool {
		if reply.Outcome != evidence.Refused {
			return false
		}
		last = reply.Text
		return !slices.ContainsFunc(says, func(part string) bool { return !strings.Contains(reply.Text, part) })
	})
	return reply, h.vain(err, "a refusal that says %q, and the last one said %q", says, last)
}

// noneFailed fails the drill for each request to host i, sent from from until to, that did not
// succeed.
func noneFailed(res *Result, i int, from, to evidence.Mono) {
	failed := res.Host(i).Failed(from, to)
	if len(failed) == 0 {
		return
	}
	f := failed[0]
	res.Fail("%s: %d requests failed, the first %v after the drill began: outcome %d, %q", res.Run.Hosts[i].Name, len(failed),
		time.Duration(f.Asked-res.Drill.Began).Round(time.Millisecond), f.Outcome, f.Text)
}

// noneFailedAnywhere is noneFailed for all hosts, over the whole drill.
func noneFailedAnywhere(res *Result) {
	for i := range res.Run.Hosts {
		noneFailed(res, i, res.Drill.Began, res.Drill.Ended)
	}
}

// answeredFrom are the worker IDs, ascending, of the IDs that host i's clients got from from until
// to, whenever they had asked.
func answeredFrom(res *Result, i int, from, to evidence.Mono) (workers []int) {
	for _, reply := range res.Host(i).Replies {
		if reply.Answered < from || reply.Answered > to {
			continue
		}
		for _, run := range reply.IDs {
			p, err := res.Run.Layout.Decompose(run.First)
			if err != nil {
				res.Fail("%s gave %d: %v", res.Run.Hosts[i].Name, run.First, err)
				return nil
			}
			if at, ok := slices.BinarySearch(workers, int(p.Worker)); !ok {
				workers = slices.Insert(workers, at, int(p.Worker))
			}
		}
	}
	return workers
}

// within reports how long something took beside what is aimed at, and fails the drill if it took
// longer than was promised with room for a busy machine.
func within(res *Result, what string, took, aim, limit time.Duration) {
	res.Figure(what, took.Round(time.Millisecond).String(), "<= "+aim.String(), took <= aim)
	if took > limit {
		res.Fail("%s took %v, more than %v", what, took.Round(time.Millisecond), limit)
	}
}

// stalled is within for the longest stall from one instant to another.
func stalled(res *Result, what string, longest func(from, to evidence.Mono) time.Duration, from, to evidence.Mono, aim, limit time.Duration) {
	canTell(res, what, time.Duration(to-from), limit)
	within(res, what, longest(from, to), aim, limit)
}

// canTell fails the drill if a stall is never above its limit, since it is only looked for within a
// window that is no longer.
func canTell(res *Result, what string, window, limit time.Duration) {
	if window <= limit {
		res.Fail("the drill is void: %s is at most %v, which it is looked for within, and may be %v", what, window.Round(time.Millisecond), limit)
	}
}
