package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/flakeward/flakeward/e2e/bench/pace"
	"github.com/flakeward/flakeward/internal/process"
)

const selfPace = "pace"

// paced is a load for the generator in a process of its own.
type paced struct {
	pace.Load
	RealTime bool // the generator gives itself real-time priority
}

// servePace is the open-loop generator in a process of its own. It reports when it has its
// priority, and at its end a pace.Result.
func servePace(ctx context.Context, l paced, report *json.Encoder) error {
	if l.RealTime {
		if err := realTime(os.Getpid()); err != nil {
			return err
		}
	}
	if err := report.Encode(l.RealTime); err != nil {
		return err
	}
	r, err := pace.Run(ctx, l.Load)
	if err != nil {
		return err
	}
	return report.Encode(r)
}

// startPace starts a load and returns when the generator has its priority.
func startPace(ctx context.Context, l paced) (*self, error) {
	var realTime bool
	return startReporting(ctx, selfPace, l, &realTime)
}

// runPace runs a load to its end. Requests that got nothing are an error: there would be no figure
// for them.
func runPace(ctx context.Context, l paced) (r pace.Result, err error) {
	s, err := startPace(ctx, l)
	if err != nil {
		return r, err
	}
	defer s.end()
	if err := s.hear(&r); err != nil {
		return r, err
	}
	if r.Refused > 0 || r.Unanswered > 0 {
		return r, fmt.Errorf("of %d requests %d were refused and %d not answered", r.Sent, r.Refused, r.Unanswered)
	}
	return r, nil
}

// atFault is err, or what the server said last if it is gone.
func atFault(s *process.Process, err error) error {
	if err != nil {
		select {
		case <-s.Ended():
			return s.Gone()
		default:
		}
	}
	return err
}
