package main

import (
	"context"
	"math"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/bench/usage"
	"github.com/flakeward/flakeward/internal/process"
)

// contestant is a request to a server that runs, as redis-benchmark sends it.
type contestant struct {
	name    string
	server  *process.Process
	socket  string
	command []string
}

// enter starts a peer, which the caller kills.
func enter(ctx context.Context, s setting, p peer) (contestant, error) {
	running, socket, err := p.start(ctx, s, filepath.Join(s.dir, p.name))
	if err != nil {
		return contestant{}, err
	}
	return contestant{name: p.name, server: running, socket: socket, command: p.command}, nil
}

// sample is what one round measured.
type sample struct {
	rate     float64 // requests a second
	p50, p99 float64 // seconds
	cpu      float64 // seconds of the server's processor time for a request
}

// load runs redis-benchmark once.
func (c contestant) load(ctx context.Context, l redisbench.Load) (sample, error) {
	l.Socket, l.Command = c.socket, c.command
	before, err := usage.CPUOf(c.server.PID())
	if err != nil {
		return sample{}, err
	}
	r, err := redisbench.Run(ctx, l)
	if err != nil {
		return sample{}, c.fault(err)
	}
	after, err := usage.CPUOf(c.server.PID())
	if err != nil {
		return sample{}, err
	}
	n := float64(l.Requests)
	return sample{rate: r.Rate, p50: r.P50.Seconds(), p99: r.P99.Seconds(), cpu: (after - before).Seconds() / n}, nil
}

// requests finds out how many requests make a round of that length; first is how many surely do not
// take long.
func (c contestant) requests(ctx context.Context, l redisbench.Load, first int, length time.Duration) (int, error) {
	// The first run is slow to get going, so the second decides.
	l.Requests = max(first, l.Clients)
	for _, of := range []time.Duration{length / 8, length} {
		r, err := c.load(ctx, l)
		if err != nil {
			return 0, err
		}
		l.Requests = max(int(math.Ceil(r.rate*of.Seconds())), l.Clients*l.Pipeline)
	}
	return l.Requests, nil
}

// inRounds measures contestants in turn under one load, in rounds of about that length each.
func inRounds(ctx context.Context, l redisbench.Load, n int, length time.Duration, all ...contestant) ([][]sample, error) {
	var entered []inTurn[sample]
	for _, c := range all {
		own := l
		var err error
		if own.Requests, err = c.requests(ctx, l, 1000*l.Pipeline, length); err != nil {
			return nil, err
		}
		entered = append(entered, inTurn[sample]{name: c.name, measure: func(ctx context.Context) (sample, error) { return c.load(ctx, own) }})
	}
	return interleave(ctx, n, entered...)
}

// fault is err, or what the server said last if it is gone.
func (c contestant) fault(err error) error {
	select {
	case <-c.server.Ended():
		return c.server.Gone()
	default:
		return err
	}
}

func rateOf(s sample) float64 { return s.rate }
func p50Of(s sample) float64  { return s.p50 }
func p99Of(s sample) float64  { return s.p99 }
func cpuOf(s sample) float64  { return s.cpu }

// versus is a figure of ours next to a peer's.
func versus(group, what string, unit report.Unit, ours []sample, peer string, theirs []sample, value func(sample) float64) report.Figure {
	return report.Figure{
		Group: group, What: what, Unit: unit,
		Ours: column(ours, value), Peer: peer, Theirs: column(theirs, value),
	}
}
