package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

// shape is a load of redis-benchmark.
type shape struct{ clients, pipeline int }

func (s shape) String() string { return fmt.Sprintf("%d x %d", s.clients, s.pipeline) }

// shapes are the loads that the socket is measured under.
var shapes = []shape{{1, 1}, {50, 1}, {500, 1}, {50, 16}, {50, 100}}

// redisCounter is the peer's request, as it is called in the tables.
const redisCounter = "Redis INCR"

// measureSocket compares single IDs with increments of a counter. Both servers run all the time, and the
// requests are measured in turn.
func measureSocket(ctx context.Context, s setting) (found report.Findings, err error) {
	redisVersions(ctx, &found)
	a, err := enter(ctx, s, ours)
	if err != nil {
		return found, err
	}
	defer a.server.Kill()
	b, err := enter(ctx, s, redis)
	if err != nil {
		return found, err
	}
	defer b.server.Kill()
	var rates, costs, waits []report.Figure
	for _, of := range shapes {
		got, err := inRounds(ctx, redisbench.Load{Clients: of.clients, Pipeline: of.pipeline}, s.rounds(fullRounds, 2), s.length(1500*time.Millisecond), a, b)
		if err != nil {
			return found, fmt.Errorf("%v: %w", of, err)
		}
		next := func(group, what string, unit report.Unit, value func(sample) float64) report.Figure {
			return versus(group, of.String()+what, unit, got[0], redisCounter, got[1], value)
		}
		const wait = "What redis-benchmark's clients wait"
		rates = append(rates, next("Single IDs over the socket, next to "+redisCounter, "", report.Rate, rateOf).RatioAtLeast(1))
		costs = append(costs, next("The server's processor time for a single ID", "", report.Seconds, cpuOf).RatioAtMost(1))
		waits = append(waits, next(wait, ", p50", report.Seconds, p50Of), next(wait, ", p99", report.Seconds, p99Of))
	}
	found.Figures = slices.Concat(rates, costs, waits)
	return found, nil
}
