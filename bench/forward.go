package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/bench/pace"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/server"
	"github.com/flakeward/flakeward/bench/stat"
	"github.com/flakeward/flakeward/internal/process"
)

const (
	forwardGroup  = "The clock set ahead at 50,000 IDs/s"
	forwardBefore = rollbackBefore
	forwardAfter  = 3 * time.Second // the clock stays ahead
	// forwardLimit is what a held step may cost, next to the same run before it.
	forwardLimit = 1.5
)

// forwardSteps are how far the clock is set ahead: once, or again and again.
var forwardSteps = []struct {
	name string
	by   []time.Duration
}{
	{"an hour", []time.Duration{time.Hour}},
	{"a day", []time.Duration{24 * time.Hour}},
	{"60 years", []time.Duration{60 * 365 * 24 * time.Hour}},
	{"0.9 s more every 100 ms", creeping(900*time.Millisecond, int(forwardAfter/stepEvery)-1)},
}

// creeping are n steps of the same size.
func creeping(step time.Duration, n int) (all []time.Duration) {
	for i := range n {
		all = append(all, time.Duration(i+1)*step)
	}
	return all
}

// forwardLoad is 50,000 single IDs a second.
var forwardLoad = pace.Load{
	Request: []string{"NEXT"}, Rate: 50000, Connections: 50, Spin: pace.DefaultSpin,
	Warm: time.Second, Length: forwardBefore + forwardAfter, Phases: []time.Duration{forwardBefore},
}

// measureForward sets the clock of a daemon ahead while clients ask at a fixed rate, each time
// another daemon's.
func measureForward(ctx context.Context, s setting) (found report.Findings, err error) {
	if s.binary, err = process.Build(ctx, s.dir); err != nil {
		return found, err
	}
	for n, step := range forwardSteps {
		held := report.Figure{Group: forwardGroup, What: "p99.9 while it is " + step.name + " ahead", Peer: "the same run before", Unit: report.Seconds}
		failed := report.Figure{Group: forwardGroup, What: "requests that failed, " + step.name + " ahead", Unit: report.Number}
		var late []float64
		for round := range s.rounds(fullRounds, 1) {
			l := forwardLoad
			l.Seed = uint64(round)
			r, err := setBy(ctx, s, filepath.Join(s.dir, fmt.Sprintf("ahead%d-%d", n, round)), l, step.by, holds)
			if err != nil {
				return found, err
			}
			if len(r.Phases) != 2 {
				return found, fmt.Errorf("a load of %d phases", len(r.Phases))
			}
			held.Ours = append(held.Ours, r.Phases[1].Latency.P999.Seconds())
			held.Theirs = append(held.Theirs, r.Phases[0].Latency.P999.Seconds())
			failed.Ours = append(failed.Ours, float64(r.Refused+r.Unanswered))
			late = append(late, r.Late.P999.Seconds())
		}
		held.Note = fmt.Sprintf("open loop over 50 connections; the generator itself was %s late at the p99.9", report.Format(report.Seconds, stat.Median(late)))
		found.Figures = append(found.Figures, held.RatioAtMost(forwardLimit), failed.EachAtMost(0))
	}
	return found, nil
}

// holds asks the daemon whether it holds a step ahead: if not, nothing was measured.
func holds(ctx context.Context, h host, d *server.Server) error {
	said, err := infoOf(ctx, h, d)
	if err != nil {
		return err
	}
	if state, _ := said.Get("clock_state"); state != "held" {
		return fmt.Errorf("the daemon does not hold the step of its clock: clock_state is %q", state)
	}
	return nil
}
