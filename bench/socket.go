package main

import (
	"context"
	"fmt"
	"math"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/bench/server"
	"github.com/flakeward/flakeward/bench/stat"
)

// shapes are the loads that the socket is measured under.
var shapes = []struct{ clients, pipeline int }{{1, 1}, {50, 1}, {50, 16}}

// contestant is a peer that runs, and what it did in each round.
type contestant struct {
	peer
	server   *server.Server
	socket   string
	requests int // in a round
	rates    []float64
	p99      []float64 // seconds
	cpu      []float64 // seconds of processor time a request
}

func enter(ctx context.Context, s setting, p peer) (*contestant, error) {
	running, socket, err := p.start(ctx, s, filepath.Join(s.dir, p.name))
	if err != nil {
		return nil, err
	}
	return &contestant{peer: p, server: running, socket: socket}, nil
}

// measureSocket compares single IDs with increments of a counter. Both servers run all the time, and are measured in turn.
func measureSocket(ctx context.Context, s setting) ([]figure, error) {
	a, err := enter(ctx, s, ours)
	if err != nil {
		return nil, err
	}
	defer a.server.Kill()
	b, err := enter(ctx, s, redis)
	if err != nil {
		return nil, err
	}
	defer b.server.Kill()
	rounds, length := s.rounds(7, 2), 1700*time.Millisecond
	if s.short {
		length = 300 * time.Millisecond
	}
	var figures []figure
	for _, shape := range shapes {
		l := redisbench.Load{Clients: shape.clients, Pipeline: shape.pipeline}
		for _, c := range []*contestant{a, b} {
			if err := c.prepare(ctx, l, length); err != nil {
				return figures, err
			}
		}
		for range rounds {
			for _, c := range []*contestant{a, b} {
				if err := c.round(ctx, l); err != nil {
					return figures, err
				}
			}
		}
		f, err := compare(a, b, fmt.Sprintf("socket, %d x %d", shape.clients, shape.pipeline))
		if err != nil {
			return figures, err
		}
		figures = append(figures, f)
		fmt.Fprintf(s.log, "bench: %s: %s, %s\n", f.what, f.got, f.more)
	}
	return figures, nil
}

// prepare finds out how many requests make a round of that length.
func (c *contestant) prepare(ctx context.Context, l redisbench.Load, length time.Duration) error {
	c.rates, c.p99, c.cpu = nil, nil, nil
	l.Socket, l.Command = c.socket, c.command
	// The first run is slow to get going, so the second decides.
	l.Requests = 5000 * l.Pipeline
	for range 2 {
		r, err := redisbench.Run(ctx, l)
		if err != nil {
			return c.fault(err)
		}
		l.Requests = int(math.Ceil(r.Rate * length.Seconds()))
	}
	c.requests = l.Requests
	return nil
}

func (c *contestant) round(ctx context.Context, l redisbench.Load) error {
	l.Socket, l.Command, l.Requests = c.socket, c.command, c.requests
	before, err := c.server.CPU()
	if err != nil {
		return err
	}
	r, err := redisbench.Run(ctx, l)
	if err != nil {
		return c.fault(err)
	}
	after, err := c.server.CPU()
	if err != nil {
		return err
	}
	c.rates = append(c.rates, r.Rate)
	c.p99 = append(c.p99, r.P99.Seconds())
	c.cpu = append(c.cpu, (after-before).Seconds()/float64(l.Requests))
	return nil
}

// fault is err, or what the server said last if it is gone.
func (c *contestant) fault(err error) error {
	select {
	case <-c.server.Ended():
		return c.server.Gone()
	default:
		return err
	}
}

func compare(a, b *contestant, what string) (figure, error) {
	r, err := stat.Ratios(a.rates, b.rates)
	if err != nil {
		return figure{}, err
	}
	return figure{
		what: what,
		got:  fmt.Sprintf("%.3f of %s (%.2f to %.2f)", r.Median, b.name, r.Min, r.Max),
		more: a.summary() + "; " + b.summary(),
	}.atLeast(r.Median, 1, "1.0"), nil
}

func (c *contestant) summary() string {
	return fmt.Sprintf("%s %s/s, p99 %.2f ms, %.2f us CPU each",
		c.what(), thousands(stat.Median(c.rates)), stat.Median(c.p99)*1e3, stat.Median(c.cpu)*1e6)
}
