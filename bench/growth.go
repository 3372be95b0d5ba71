package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/bench/redisbench"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
	"github.com/flakeward/flakeward/bench/stat"
)

// tenantLayout has 16 tenants, and as many IDs a millisecond for each as the default layout has in
// all.
const tenantLayout = "time=41@1ms,worker=6,tenant=4,sequence=12;epoch=2026-01-01"

// growth is one way in which the load or the daemon grows.
type growth struct {
	name   string // of its plots' files
	title  string // "connections, each with one request under way"
	label  string // of the axis: "connections"
	lines  []growthLine
	points []int
	quick  []int // with -short
}

// growthLine is one line of its plots.
type growthLine struct {
	name string
	peer func(n int) peer
	load func(n int) redisbench.Load // without socket and requests
	ids  func(n int) int             // in a reply
}

func one(int) int { return 1 }

func always(p peer) func(int) peer { return func(int) peer { return p } }

// closed is a load of connections that each ask, wait for the reply, and ask again.
func closed(clients int, command ...string) redisbench.Load {
	return redisbench.Load{Clients: clients, Pipeline: 1, Command: command}
}

// most is a flag's value that does not limit what is measured.
const most = "10100"

var growths = []growth{
	{
		name: "connections", title: "connections, each with one request under way", label: "connections",
		points: []int{1, 10, 100, 1000, 10_000}, quick: []int{1, 100},
		lines: []growthLine{{
			name: "NEXT", peer: always(oursWith("--max-connections", most)), ids: one,
			load: func(n int) redisbench.Load { return closed(n, "NEXT") },
		}, {
			name: redisCounter, peer: always(redisWith("--maxclients", most)), ids: one,
			load: func(n int) redisbench.Load { return closed(n, redis.command...) },
		}},
	},
	{
		name: "lanes", title: "lanes, 50 connections that ask for 1,000 IDs", label: "lanes",
		points: []int{1, 2, 4, 8, 16}, quick: []int{1, 2},
		lines: []growthLine{{
			name: "RUN 1000", peer: func(n int) peer { return oursWith("--lanes", strconv.Itoa(n)) }, ids: func(int) int { return 1000 },
			load: func(int) redisbench.Load { return closed(50, "RUN", "1000") },
		}},
	},
	{
		name: "tenants", title: "tenants drawn at random, 50 connections with 16 requests under way", label: "tenants",
		points: []int{1, 2, 4, 8, 16}, quick: []int{1, 2},
		lines: []growthLine{{
			name: "NEXT TENANT", peer: always(oursWith("--layout", tenantLayout)), ids: one,
			load: func(n int) redisbench.Load {
				return redisbench.Load{Clients: 50, Pipeline: 16, Keys: n, Command: []string{"NEXT", "TENANT", "__rand_int__"}}
			},
		}},
	},
	{
		name: "batch", title: "IDs in a request, 50 connections", label: "IDs in a request",
		points: []int{1, 10, 100, 1000, 10_000}, quick: []int{1, 100},
		lines: []growthLine{batchLine("NEXT"), batchLine("RUN")},
	},
}

func batchLine(word string) growthLine {
	return growthLine{
		name: word + " n", peer: always(ours), ids: func(n int) int { return n },
		load: func(n int) redisbench.Load { return closed(50, word, strconv.Itoa(n)) },
	}
}

// grown is one measurement at one point, of a server that was started for it.
type grown struct {
	rate, cpu float64 // of an ID
	peak      float64 // the server's largest resident size
}

// measureGrowth measures each way of growing, each point in each round on a fresh server.
func measureGrowth(ctx context.Context, s setting) (found report.Findings, err error) {
	redisVersions(ctx, &found)
	if err := openFiles(10_000 + room); err != nil {
		return found, err
	}
	for _, g := range growths {
		if s.short {
			g.points = g.quick
		}
		begun := time.Now()
		more, err := g.measure(ctx, s)
		if err != nil {
			return found, fmt.Errorf("growth against %s: %w", g.name, err)
		}
		found.Add(more)
		fmt.Fprintf(s.log, "bench: growth: %s took %.0f s\n", g.name, time.Since(begun).Seconds())
	}
	return found, nil
}

func (g growth) measure(ctx context.Context, s setting) (report.Findings, error) {
	// Short, as there are many points, and long next to the 10 ms in which processor time is
	// counted. To open 10,000 connections redis-benchmark takes 8 s more, whoever answers: it
	// pauses after every 64.
	length, started := 500*time.Millisecond, 0
	if s.short {
		length = 100 * time.Millisecond
	}
	var entered []rounds.Contestant[grown]
	for _, l := range g.lines {
		for _, n := range g.points {
			var p plan
			entered = append(entered, rounds.Contestant[grown]{Name: fmt.Sprintf("%s at %d", l.name, n), Measure: func(ctx context.Context) (grown, error) {
				started++
				return l.point(ctx, s, filepath.Join(s.dir, fmt.Sprint(g.name, started)), n, &p, length)
			}})
		}
	}
	got, err := rounds.Interleave(ctx, s.rounds(fullRounds, 1), entered...)
	if err != nil {
		return report.Findings{}, err
	}
	return g.findings(got), nil
}

// plan is what the first round at a point finds out for all of them.
type plan struct {
	requests   int     // in a round
	connecting float64 // seconds of the server's processor time for accepting the connections and one request on each
}

// many are so many connections that the server's time for accepting them would be seen in its time
// for requests.
const many = 1000

// point measures at n, on a fresh server.
func (l growthLine) point(ctx context.Context, s setting, dir string, n int, p *plan, length time.Duration) (grown, error) {
	peer := l.peer(n)
	running, socket, err := peer.start(ctx, s, dir)
	if err != nil {
		return grown{}, err
	}
	defer running.Kill()
	load := l.load(n)
	c := contestant{name: peer.name, server: running, socket: socket, command: load.Command}
	if p.requests == 0 {
		if *p, err = l.prepare(ctx, c, load, n, length); err != nil {
			return grown{}, err
		}
	}
	load.Requests = p.requests
	got, err := c.load(ctx, load)
	if err != nil {
		return grown{}, err
	}
	memory, err := running.Memory()
	if err != nil {
		return grown{}, err
	}
	cpu := got.cpu
	if load.Clients >= many {
		cpu = max((got.cpu*float64(load.Requests)-p.connecting)/float64(load.Requests-load.Clients), 0)
	}
	ids := float64(l.ids(n))
	return grown{rate: got.rate * ids, cpu: cpu / ids, peak: float64(memory.Peak)}, nil
}

// prepare finds out how many requests make a round, and what accepting many connections costs.
func (l growthLine) prepare(ctx context.Context, c contestant, load redisbench.Load, n int, length time.Duration) (p plan, err error) {
	fewer := load
	fewer.Clients = min(load.Clients, many/2)
	if p.requests, err = c.requests(ctx, fewer, max(20_000/l.ids(n), 100), length); err != nil || load.Clients < many {
		return p, err
	}
	p.requests = max(p.requests, 4*load.Clients)
	load.Requests = load.Clients
	only, err := c.load(ctx, load)
	p.connecting = only.cpu * float64(load.Requests)
	return p, err
}

// findings has a plot for each quantity, which are the table as well. got is by line, then by
// point.
func (g growth) findings(got [][]grown) (found report.Findings) {
	group := "Growth: " + g.title
	for _, q := range []struct {
		name, title string
		unit        report.Unit
		logarithmic bool
		of          func(grown) float64
	}{
		{"rate", "IDs a second", report.Rate, false, func(v grown) float64 { return v.rate }},
		{"cost", "server's processor time for an ID", report.Seconds, true, func(v grown) float64 { return v.cpu }},
		{"memory", "server's largest resident size", report.Bytes, false, func(v grown) float64 { return v.peak }},
	} {
		plot := report.Plot{
			Name: "growth-" + g.name + "-" + q.name, Group: group, Title: q.title,
			X: report.Axis{Label: g.label, Log: true}, Y: report.Axis{Unit: q.unit, Log: q.logarithmic}, Rounds: len(got[0]),
		}
		next := 0
		for _, l := range g.lines {
			line := report.Line{Name: l.name}
			for _, n := range g.points {
				samples := rounds.Column(got[next], q.of)
				next++
				// Where the kernel counted no time, as too little was done, there is nothing to
				// show.
				if v := stat.Median(samples); v > 0 && !(q.logarithmic && least(samples) <= 0) {
					line.X = append(line.X, float64(n))
					addPoint(&line, v, samples)
				}
			}
			if len(line.Y) > 0 {
				plot.Lines = append(plot.Lines, line)
			}
		}
		if len(plot.Lines) > 0 {
			found.Plots = append(found.Plots, plot)
		}
	}
	return found
}

func least(samples []float64) float64 {
	l := samples[0]
	for _, v := range samples {
		l = min(l, v)
	}
	return l
}
