package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

// shape is a load of redis-benchmark.
type shape struct{ clients, pipeline int }

func (s shape) String() string { return fmt.Sprintf("%d x %d", s.clients, s.pipeline) }

// shapes are the loads that the socket is measured under.
var shapes = []shape{{1, 1}, {50, 1}, {500, 1}, {50, 16}, {50, 100}}

// The peers' requests, as they are called in the tables.
const (
	redisCounter = "Redis INCR"
	redisLua     = "Redis script"
)

// measureSocket compares single IDs with increments of a counter, and with IDs that a script makes.
// Both servers run all the time, and the requests are measured in turn.
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
	c := b
	c.name = redisLua
	if c.command, err = scripted(ctx, c.socket); err != nil {
		return found, err
	}
	length := s.length(1500 * time.Millisecond)
	var t socketTables
	for _, shape := range shapes {
		got, err := inRounds(ctx, redisbench.Load{Clients: shape.clients, Pipeline: shape.pipeline}, s.rounds(fullRounds, 2), length, a, b, c)
		if err != nil {
			return found, fmt.Errorf("%v: %w", shape, err)
		}
		t.add(shape, got[0], got[1], got[2])
	}
	found.Add(t.findings())
	return found, nil
}

// socketTables are figures by table.
type socketTables struct {
	counter, script, cpu, latency []report.Figure
}

const (
	counterGroup = "Single IDs over the socket, next to " + redisCounter
	scriptGroup  = "Single IDs over the socket, next to IDs from a " + redisLua
	costGroup    = "The server's processor time for a single ID"
	waitGroup    = "What redis-benchmark's clients wait"
)

func (t *socketTables) add(of shape, ours, counter, script []sample) {
	t.counter = append(t.counter, explained(versus(counterGroup, of.String(), report.Rate, ours, redisCounter, counter, rateOf).RatioAtLeast(1), ours, counter))
	t.script = append(t.script, explained(versus(scriptGroup, of.String(), report.Rate, ours, redisLua, script, rateOf).RatioAtLeast(2), ours, script))
	t.cpu = append(t.cpu, versus(costGroup, of.String(), report.Seconds, ours, redisCounter, counter, cpuOf).RatioAtMost(1))
	t.latency = append(t.latency,
		versus(waitGroup, of.String()+", p50", report.Seconds, ours, redisCounter, counter, p50Of),
		versus(waitGroup, of.String()+", p99", report.Seconds, ours, redisCounter, counter, p99Of))
}

// explained gives a rate that misses its target a note, if redis-benchmark takes more processor
// time for a request than the daemon does: that part of a request is much the same whoever answers,
// so the rates are closer to each other than the servers' times are.
func explained(f report.Figure, ours, theirs []sample) report.Figure {
	client, server := report.Median(column(ours, clientOf)), report.Median(column(ours, cpuOf))
	if f.Verdict() != report.NotMet || client <= server {
		return f
	}
	seconds := func(v float64) string { return report.Format(report.Seconds, v) }
	f.Note = fmt.Sprintf("redis-benchmark itself takes most of a request's processor time: %s beside %s of flakeward's (%s: %s beside %s); it kept %s of one processor busy",
		seconds(client), seconds(server), f.Peer, seconds(report.Median(column(theirs, clientOf))), seconds(report.Median(column(theirs, cpuOf))),
		report.Format(report.Share, report.Median(column(ours, busyOf))))
	return f
}

func (t *socketTables) findings() (found report.Findings) {
	found.Figures = append(found.Figures, t.counter...)
	found.Figures = append(found.Figures, ahead(t.counter))
	found.Figures = append(found.Figures, t.script...)
	found.Figures = append(found.Figures, t.cpu...)
	found.Figures = append(found.Figures, t.latency...)
	return found
}

// ahead counts the shapes in which a figure's ratio is clearly above 1.
func ahead(figures []report.Figure) report.Figure {
	const clearly, most = 1.1, 3
	n := 0
	for _, f := range figures {
		if f.RatioAtLeast(clearly).Verdict() == report.Met {
			n++
		}
	}
	return report.Figure{
		Group: counterGroup, What: fmt.Sprintf("of these %d, at %v times or more", len(figures), clearly), Ours: []float64{float64(n)}, Derived: true,
	}.AtLeast(most)
}
