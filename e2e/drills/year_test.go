//go:build e2e

package drills

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
)

const (
	year  = 365 * day
	month = 30 * day
	// wrongFor is how long the clocks of the cluster are wrong.
	wrongFor = 15 * time.Second
)

func init() {
	register(Drill{
		Name: "year-ahead",
		What: "the clocks of 30 daemons with 32 worker IDs, which trust them, are ahead by a year, and right again; the same a month later; " +
			"then the year has passed: each daemon serves within 10 s of its clock's return, and no ID comes twice",
		Options: Options{
			Limit: 5 * time.Minute, Hosts: 30, Layout: "time=41@1ms,worker=5,sequence=12;epoch=2026-01-01",
			TTL: 10 * time.Second, Publish: 3 * time.Second, Lead: -1, Daemon: []string{"--trust-clock"}, Client: []string{"--load=0.01"},
		},
		Large:  true,
		Script: yearAhead,
		Judge:  judgeYearAhead,
	})
}

// wrongs is a cluster whose clocks were wrong.
type wrongs struct {
	serving [][]time.Duration // after each return, how long each host needed to serve by its clock
}

var wrong notes[wrongs]

// setAll sets all clocks of the cluster.
func setAll(ctx context.Context, r *Run, off time.Duration) {
	must(Each(r.Hosts, func(h *Host) error { return h.SetClock(ctx, off) }))
}

// servesAt waits until the host issues by a clock that is so far off, within a few seconds.
func servesAt(ctx context.Context, r *Run, h *Host, off time.Duration) (evidence.Mono, error) {
	const near = 5 * time.Second
	reply, err := h.Await(ctx, func(reply evidence.Reply) bool {
		if reply.Outcome != evidence.Got {
			return false
		}
		parts, err := r.Layout.Decompose(reply.IDs[0].First)
		if err != nil {
			return false
		}
		shown := r.Layout.UnixNanos(parts.Tick) - r.trueTime(reply.Answered) - int64(off)
		return -int64(near) < shown && shown < int64(near)
	})
	return reply.Answered, h.vain(err, "IDs by a clock that is %v off", off)
}

// allServeAt is servesAt for all hosts: how long each needed.
func allServeAt(ctx context.Context, r *Run, off time.Duration) []time.Duration {
	begun := evidence.Now()
	took := make([]time.Duration, len(r.Hosts))
	must(Each(r.Hosts, func(h *Host) error {
		at, err := servesAt(ctx, r, h, off)
		took[h.Index] = time.Duration(at - begun)
		return err
	}))
	return took
}

func yearAhead(ctx context.Context, r *Run) {
	seen := wrong.of(r)
	begun := time.Now()
	for _, now := range []time.Duration{0, month} {
		r.Step("all clocks are ahead by a year, %v from the beginning", now)
		setAll(ctx, r, now+year)
		took := allServeAt(ctx, r, now+year)
		r.Step("the last host follows after %v", slices.Max(took).Round(time.Millisecond))
		must(r.Last(ctx, wrongFor))
		r.Step("all clocks are right again")
		setAll(ctx, r, now)
		took = allServeAt(ctx, r, now)
		r.Step("the last host serves by it after %v", slices.Max(took).Round(time.Millisecond))
		seen.serving = append(seen.serving, took)
		if now == 0 {
			r.Step("a month later")
			setAll(ctx, r, month)
			allServeAt(ctx, r, month)
		}
	}
	// From a moment before the first wrong time to after its end.
	off := year - time.Since(begun)
	r.Step("the year has passed")
	setAll(ctx, r, off)
	allServeAt(ctx, r, off)
	must(r.Last(ctx, wrongFor+30*time.Second))
	allServeAt(ctx, r, off)
	must(all(ctx, r.Hosts, 10))
}

func judgeYearAhead(res *Result) {
	for i, took := range wrong.of(res.Run).serving {
		within(res, fmt.Sprintf("serving after the %s return, the last of %d hosts", []string{"first", "second"}[i], len(took)), slices.Max(took), 10*time.Second, 10*time.Second+busy)
	}
}
