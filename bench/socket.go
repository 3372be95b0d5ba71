package main

import (
	"context"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
	"github.com/flakeward/flakeward/bench/stat"
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

// measureSocket compares single IDs with increments of a counter, with IDs that a script makes, and
// with the same number again and again. All servers run all the time, and the requests are measured
// in turn.
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
	d, err := enter(ctx, s, floor)
	if err != nil {
		return found, err
	}
	defer d.server.Kill()
	length := s.length(1500 * time.Millisecond)
	var t socketTables
	for _, shape := range shapes {
		got, err := inRounds(ctx, redisbench.Load{Clients: shape.clients, Pipeline: shape.pipeline}, s.rounds(fullRounds, 2), length, a, b, c, d)
		if err != nil {
			return found, fmt.Errorf("%v: %w", shape, err)
		}
		t.add(shape, got[0], got[1], got[2])
		t.floor = append(t.floor, versus(floorGroup, shape.String(), report.Rate, got[0], floor.name, got[3], rateOf))
	}
	found.Add(t.findings())
	return found, nil
}

// socketTables are figures by table, and what the plots show by shape.
type socketTables struct {
	counter, script, floor, cpu, client, latency []report.Figure
	shapes                                       []string
	ratios, costs                                [3]report.Line // of ours, the counter and the script
}

const (
	counterGroup = "Single IDs over the socket, next to " + redisCounter
	scriptGroup  = "Single IDs over the socket, next to IDs from a " + redisLua
	floorGroup   = "Single IDs over the socket, next to a server that does nothing else"
	costGroup    = "The server's processor time for a single ID"
	clientGroup  = "redis-benchmark's own processor time for a single ID"
	waitGroup    = "What redis-benchmark's clients wait"
)

func (t *socketTables) add(of shape, ours, counter, script []sample) {
	t.counter = append(t.counter, explained(versus(counterGroup, of.String(), report.Rate, ours, redisCounter, counter, rateOf).RatioAtLeast(1), ours, counter))
	t.script = append(t.script, explained(versus(scriptGroup, of.String(), report.Rate, ours, redisLua, script, rateOf).RatioAtLeast(2), ours, script))
	t.cpu = append(t.cpu,
		versus(costGroup, of.String(), report.Seconds, ours, redisCounter, counter, cpuOf).RatioAtMost(1),
		versus(costGroup, of.String(), report.Seconds, ours, redisLua, script, cpuOf))
	t.client = append(t.client,
		versus(clientGroup, of.String(), report.Seconds, ours, redisCounter, counter, clientOf),
		versus(clientGroup, of.String(), report.Seconds, ours, redisLua, script, clientOf))
	t.latency = append(t.latency,
		versus(waitGroup, of.String()+", p50", report.Seconds, ours, redisCounter, counter, p50Of),
		versus(waitGroup, of.String()+", p99", report.Seconds, ours, redisCounter, counter, p99Of))
	t.shapes = append(t.shapes, of.String())
	all := [][]sample{ours, counter, script}
	for i, name := range []string{"flakeward NEXT", redisCounter, redisLua} {
		f := versus("", "", report.Rate, all[i], redisCounter, counter, rateOf)
		if r, err := stat.Ratios(f.Ours, f.Theirs); err == nil {
			t.ratios[i].Name = name
			addPoint(&t.ratios[i], r.OfMedians, []float64{min(r.Min, r.OfMedians), max(r.Max, r.OfMedians)})
		}
		t.costs[i].Name = name
		cpu := versus("", "", report.Seconds, all[i], "", nil, cpuOf).Ours
		addPoint(&t.costs[i], stat.Median(cpu), cpu)
	}
}

// explained gives a rate that misses its target a note, if redis-benchmark takes more processor
// time for a request than the daemon does: that part of a request is much the same whoever answers,
// so the rates are closer to each other than the servers' times are.
func explained(f report.Figure, ours, theirs []sample) report.Figure {
	client, server := stat.Median(rounds.Column(ours, clientOf)), stat.Median(rounds.Column(ours, cpuOf))
	if f.Verdict() != report.NotMet || client <= server {
		return f
	}
	seconds := func(v float64) string { return report.Format(report.Seconds, v) }
	f.Note = fmt.Sprintf("of a request's processor time most is redis-benchmark's own, which shares the processors: %s beside %s of flakeward's (with %s: %s beside %s); it kept %s of one processor busy (%s)",
		seconds(client), seconds(server),
		f.Peer, seconds(stat.Median(rounds.Column(theirs, clientOf))), seconds(stat.Median(rounds.Column(theirs, cpuOf))),
		report.Format(report.Share, stat.Median(rounds.Column(ours, busyOf))), report.Format(report.Share, stat.Median(rounds.Column(theirs, busyOf))))
	return f
}

// addPoint puts a value with the spread of its samples to a line.
func addPoint(l *report.Line, value float64, samples []float64) {
	low, high := value, value
	for _, v := range samples {
		low, high = min(low, v), max(high, v)
	}
	l.Y, l.Low, l.High = append(l.Y, value), append(l.Low, low), append(l.High, high)
}

func (t *socketTables) findings() (found report.Findings) {
	found.Figures = append(found.Figures, t.counter...)
	found.Figures = append(found.Figures, ahead(t.counter))
	found.Figures = append(found.Figures, t.script...)
	found.Figures = append(found.Figures, t.floor...)
	found.Figures = append(found.Figures, t.cpu...)
	found.Figures = append(found.Figures, t.client...)
	found.Figures = append(found.Figures, t.latency...)
	axis := report.Axis{Label: "clients x pipeline", Names: t.shapes}
	found.Plots = []report.Plot{
		{Name: "socket-rates", Group: counterGroup, Title: "Requests a second, as a part of " + redisCounter + "'s", Bars: true,
			X: axis, Y: report.Axis{Label: "times " + redisCounter}, Lines: t.ratios[:]},
		{Name: "socket-cost", Group: costGroup, Title: "Server's processor time for a request", Bars: true,
			X: axis, Y: report.Axis{Unit: report.Seconds}, Lines: t.costs[:]},
	}
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
