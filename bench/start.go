package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/flakeward/flakeward/bench/server"
	"github.com/flakeward/flakeward/bench/stat"
)

// journalStep is the daemon's default: its mark on disk is renewed in such steps, and where in one a daemon is killed decides how
// long the next one waits.
const journalStep = time.Second

// measureStarts starts daemons after every kind of end.
func measureStarts(ctx context.Context, s setting) ([]figure, error) {
	rounds := s.rounds(7, 3)
	fresh, err := freshStarts(ctx, s, rounds)
	if err != nil {
		return nil, err
	}
	figures := []figure{startFigure("start, new state directory", fresh, 300*time.Millisecond)}

	killed, err := restarts(ctx, s, "killed", rounds, func(d *server.Server) error { d.Kill(); return nil })
	if err != nil {
		return figures, err
	}
	figures = append(figures, startFigure("start after kill -9 under load", killed, 1300*time.Millisecond))

	stopped, err := restarts(ctx, s, "stopped", rounds, (*server.Server).Stop)
	if err != nil {
		return figures, err
	}
	return append(figures, startFigure("start after SIGTERM under load", stopped, 300*time.Millisecond)), nil
}

func freshStarts(ctx context.Context, s setting, rounds int) (took []time.Duration, err error) {
	for i := range rounds {
		h, err := newHost(s.binary, filepath.Join(s.dir, fmt.Sprint("fresh", i)))
		if err != nil {
			return nil, err
		}
		d, t, err := h.start(ctx)
		if err != nil {
			return nil, err
		}
		d.Kill()
		took = append(took, t)
	}
	return took, nil
}

// restarts starts daemons on one state directory, each after the one before was ended while a client pulled IDs from it.
func restarts(ctx context.Context, s setting, name string, rounds int, end func(*server.Server) error) (took []time.Duration, err error) {
	h, err := newHost(s.binary, filepath.Join(s.dir, name))
	if err != nil {
		return nil, err
	}
	d, _, err := h.start(ctx)
	for i := range rounds {
		if err != nil {
			return nil, err
		}
		// The ends are spread evenly over a step.
		if err := load(ctx, h, d, journalStep+journalStep*time.Duration(i)/time.Duration(rounds), end); err != nil {
			d.Kill()
			return nil, err
		}
		var t time.Duration
		d, t, err = h.start(ctx)
		took = append(took, t)
	}
	if err != nil {
		return nil, err
	}
	d.Kill()
	return took, nil
}

// load ends the daemon after a client has pulled IDs for that long, and still does.
func load(ctx context.Context, h host, d *server.Server, length time.Duration, end func(*server.Server) error) error {
	client, err := startPull(ctx, order{socket: h.socket, run: true, count: 5000, window: 4, length: patience})
	if err != nil {
		return err
	}
	defer client.end()
	if err := pause(ctx, length); err != nil {
		return err
	}
	if err := end(d); err != nil {
		return err
	}
	var last pulled // the client ended because the daemon did
	return client.hear(&last)
}

func startFigure(what string, took []time.Duration, limit time.Duration) figure {
	var seconds []float64
	for _, t := range took {
		seconds = append(seconds, t.Seconds())
	}
	longest := slices.Max(seconds)
	return figure{
		what: what,
		got:  fmt.Sprintf("%.0f ms, at most %.0f", stat.Median(seconds)*1e3, longest*1e3),
		more: fmt.Sprintf("median and maximum of %d, to the first whole reply; the maximum counts", len(took)),
	}.atMost(longest, limit.Seconds(), limit.String())
}
