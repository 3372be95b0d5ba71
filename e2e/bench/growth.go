package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/bench/usage"
)

const growthGroup = "Connections, each with one request under way"

// grown is one measurement with a number of connections, of a server that was started for it.
type grown struct {
	rate, cpu float64 // of a request
	peak      float64 // the server's largest resident size
}

// measureGrowth looks at what a request costs as connections grow, in each round on a fresh server.
func measureGrowth(ctx context.Context, s setting) (found report.Findings, err error) {
	redisVersions(ctx, &found)
	points, length := []int{1, 10, 100, 1000, 10_000}, 500*time.Millisecond
	if s.short {
		points, length = []int{1, 100}, 100*time.Millisecond
	}
	if err := openFiles(10_000 + room); err != nil {
		return found, err
	}
	most := strconv.Itoa(10_000 + room/2)
	started := 0
	for _, n := range points {
		var entered []inTurn[grown]
		for _, p := range []peer{oursWith("--max-connections", most), redisWith("--maxclients", most)} {
			of := growing{peer: p, connections: n}
			entered = append(entered, inTurn[grown]{name: fmt.Sprintf("%s, %d connections", p.name, n), measure: func(ctx context.Context) (grown, error) {
				started++
				return of.measure(ctx, s, filepath.Join(s.dir, fmt.Sprint("growth", started)), length)
			}})
		}
		got, err := interleave(ctx, s.rounds(fullRounds, 1), entered...)
		if err != nil {
			return found, err
		}
		found.Figures = append(found.Figures, growthFigures(n, got[0], got[1])...)
	}
	return found, nil
}

// growthFigures are those of a number of connections.
func growthFigures(connections int, ours, theirs []grown) (figures []report.Figure) {
	for _, q := range []struct {
		what string
		unit report.Unit
		of   func(grown) float64
	}{
		{"requests", report.Rate, func(v grown) float64 { return v.rate }},
		{"the server's processor time for one", report.Seconds, func(v grown) float64 { return v.cpu }},
		{"the server's largest resident size", report.Bytes, func(v grown) float64 { return v.peak }},
	} {
		figures = append(figures, report.Figure{
			Group: growthGroup, What: report.Format(report.Number, float64(connections)) + ", " + q.what, Unit: q.unit,
			Ours: column(ours, q.of), Peer: redisCounter, Theirs: column(theirs, q.of),
		})
	}
	return figures
}

// growing is a peer with a number of connections.
type growing struct {
	peer
	connections int
	requests    int     // in a round; the first round finds out for all of them
	connecting  float64 // seconds of the server's processor time for accepting the connections and one request on each
}

// many are so many connections that the server's time for accepting them would be seen in its time
// for requests.
const many = 1000

// measure measures on a fresh server.
func (g *growing) measure(ctx context.Context, s setting, dir string, length time.Duration) (grown, error) {
	running, socket, err := g.start(ctx, s, dir)
	if err != nil {
		return grown{}, err
	}
	defer running.Kill()
	c := contestant{name: g.name, server: running, socket: socket, command: g.command}
	load := redisbench.Load{Clients: g.connections, Pipeline: 1}
	if g.requests == 0 {
		if err := g.prepare(ctx, c, load, length); err != nil {
			return grown{}, err
		}
	}
	load.Requests = g.requests
	got, err := c.load(ctx, load)
	if err != nil {
		return grown{}, err
	}
	memory, err := usage.MemoryOf(running.PID())
	if err != nil {
		return grown{}, err
	}
	cpu := got.cpu
	if g.connections >= many {
		cpu = max((got.cpu*float64(load.Requests)-g.connecting)/float64(load.Requests-load.Clients), 0)
	}
	return grown{rate: got.rate, cpu: cpu, peak: float64(memory.Peak)}, nil
}

// prepare finds out how many requests make a round, and what accepting many connections costs. To
// open 10,000 connections redis-benchmark takes 8 s, whoever answers: it pauses after every 64.
func (g *growing) prepare(ctx context.Context, c contestant, load redisbench.Load, length time.Duration) (err error) {
	fewer := load
	fewer.Clients = min(load.Clients, many/2)
	if g.requests, err = c.requests(ctx, fewer, 20_000, length); err != nil || g.connections < many {
		return err
	}
	g.requests = max(g.requests, 4*load.Clients)
	load.Requests = load.Clients
	only, err := c.load(ctx, load)
	g.connecting = only.cpu * float64(load.Requests)
	return err
}
