package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/flakeward/flakeward/bench/pace"
	"github.com/flakeward/flakeward/bench/realtime"
	"github.com/flakeward/flakeward/bench/server"
)

const selfPace = "pace"

// paced is a load for the generator in a process of its own.
type paced struct {
	pace.Load
	RealTime bool // the generator gives itself real-time priority
}

// servePace is the open-loop generator in a process of its own. It reports when its schedule
// begins, in nanoseconds of CLOCK_MONOTONIC, and at its end a pace.Result.
func servePace(ctx context.Context, l paced, report *json.Encoder) error {
	var told error
	l.Begun = func(at int64) { told = report.Encode(at) }
	if l.RealTime {
		if err := realtime.Process(os.Getpid()); err != nil {
			return err
		}
	}
	r, err := pace.Run(ctx, l.Load)
	if err != nil {
		return err
	}
	if told != nil {
		return told
	}
	return report.Encode(r)
}

// startPace starts a load and returns when its schedule begins, with that time.
func startPace(ctx context.Context, l paced) (s *self, begun int64, err error) {
	s, err = startReporting(ctx, selfPace, l, &begun)
	return s, begun, err
}

// runPace runs a load to its end. Requests that got nothing are an error: there would be no figure
// for them.
func runPace(ctx context.Context, l paced) (pace.Result, error) {
	s, _, err := startPace(ctx, l)
	if err != nil {
		return pace.Result{}, err
	}
	defer s.end()
	return hearPace(s)
}

// hearPace waits for the end of a load.
func hearPace(s *self) (r pace.Result, err error) {
	if err := s.hear(&r); err != nil {
		return r, err
	}
	if r.Refused > 0 || r.Unanswered > 0 {
		return r, fmt.Errorf("of %d requests %d were refused and %d not answered", r.Sent, r.Refused, r.Unanswered)
	}
	return r, nil
}

// atFault is err, or what the server said last if it is gone.
func atFault(s *server.Server, err error) error {
	if err != nil {
		select {
		case <-s.Ended():
			return s.Gone()
		default:
		}
	}
	return err
}
