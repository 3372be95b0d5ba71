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

const (
	idleGroup = "Idle connections"
	// room is how many connections a server must take besides the idle ones, and its own open
	// files.
	room = 200
)

// measureIdle looks at what connections cost that do nothing, after one request each: memory, and
// the speed of those that do something.
func measureIdle(ctx context.Context, s setting) (found report.Findings, err error) {
	redisVersions(ctx, &found)
	idle := 10_000
	if s.short {
		idle = 500
	}
	if err := openFiles(uint64(2*idle + room)); err != nil { // those to both servers are this process's
		return found, err
	}
	most := strconv.Itoa(idle + room/2)
	a, b := oursWith("--max-connections", most), redisWith("--maxclients", most)
	if err := idleMemory(ctx, s, &found, idle, a, b); err != nil {
		return found, err
	}
	return found, idleRate(ctx, s, &found, idle, a, b)
}

// idleMemory compares the memory of fresh servers before and after the connections were made and
// used once.
func idleMemory(ctx context.Context, s setting, found *report.Findings, idle int, peers ...peer) error {
	round := 0
	var entered []inTurn[float64]
	for _, p := range peers {
		entered = append(entered, inTurn[float64]{name: p.name, measure: func(ctx context.Context) (float64, error) {
			round++
			return perConnection(ctx, s, p, filepath.Join(s.dir, fmt.Sprint("memory", round)), idle)
		}})
	}
	got, err := interleave(ctx, s.rounds(fullRounds, 1), entered...)
	if err != nil {
		return err
	}
	f := report.Figure{Group: idleGroup, What: fmt.Sprintf("memory of each of %s", report.Format(report.Number, float64(idle))), Unit: report.Bytes, Ours: got[0], Peer: peers[1].name, Theirs: got[1],
		Note: "growth of the server's resident size (VmRSS), one request made on each"}
	found.Figures = append(found.Figures, f.AtMost(10_000))
	return nil
}

func perConnection(ctx context.Context, s setting, p peer, dir string, idle int) (float64, error) {
	running, socket, err := p.start(ctx, s, dir)
	if err != nil {
		return 0, err
	}
	defer running.Kill()
	before, err := usage.MemoryOf(running.PID())
	if err != nil {
		return 0, err
	}
	held, err := hold(ctx, socket, idle, p.command)
	if err != nil {
		return 0, err
	}
	defer held()
	after, err := usage.MemoryOf(running.PID())
	if err != nil {
		return 0, err
	}
	return float64(after.Resident-before.Resident) / float64(idle), nil
}

// idleRate compares the speed of a few connections while the others do nothing.
func idleRate(ctx context.Context, s setting, found *report.Findings, idle int, peers ...peer) error {
	var entered []contestant
	for _, p := range peers {
		c, err := enter(ctx, s, p)
		if err != nil {
			return err
		}
		defer c.server.Kill()
		held, err := hold(ctx, c.socket, idle, c.command)
		if err != nil {
			return err
		}
		defer held()
		entered = append(entered, c)
	}
	length := s.length(1500 * time.Millisecond)
	for _, of := range []shape{{50, 1}, {50, 16}} {
		got, err := inRounds(ctx, redisbench.Load{Clients: of.clients, Pipeline: of.pipeline}, s.rounds(fullRounds, 2), length, entered...)
		if err != nil {
			return err
		}
		what := fmt.Sprintf("%v with %s idle", of, report.Format(report.Number, float64(idle)))
		found.Figures = append(found.Figures,
			versus(idleGroup, what, report.Rate, got[0], redisCounter, got[1], rateOf).RatioAtLeast(1),
			versus(idleGroup, what+", p99", report.Seconds, got[0], redisCounter, got[1], p99Of))
	}
	return nil
}
