package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/bench/pace"
	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/server"
	"github.com/flakeward/flakeward/bench/stat"
	"github.com/flakeward/flakeward/internal/fault"
	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
)

const (
	rollbackGroup = "The clock set back by 1.5 s at 1,000,000 IDs/s"
	// rollback is how far the clock is set back, and so how long it takes until it shows again what
	// it showed before.
	rollback = 1500 * time.Millisecond
	// rollbackBefore is how long the load has gone on by then, beside its warm-up: longer than the
	// ring's span, so that all of it has been issued from.
	rollbackBefore = 2 * time.Second
	rollbackAfter  = 1500 * time.Millisecond
	rollbackSlice  = 50 * time.Millisecond // of the plot
)

// rollbackLoad is 1,000,000 IDs a second, as runs of 100.
var rollbackLoad = pace.Load{
	Request: []string{"RUN", "100"}, Runs: true, Rate: 10000, Connections: 50, Spin: pace.DefaultSpin,
	Warm: time.Second, Length: rollbackBefore + rollback + rollbackAfter,
}

// measureRollback sets the clock of a daemon back while clients ask at a fixed rate, each time
// another daemon's.
func measureRollback(ctx context.Context, s setting) (found report.Findings, err error) {
	if s.binary, err = process.Build(ctx, s.dir); err != nil {
		return found, err
	}
	var all []pace.Result
	for round := range s.rounds(fullRounds, 1) {
		l := rollbackLoad
		l.Seed = uint64(round)
		l.Phases = []time.Duration{rollbackBefore, rollbackBefore + rollback}
		r, err := setBack(ctx, s, filepath.Join(s.dir, fmt.Sprint("round", round)), l)
		if err != nil {
			return found, err
		}
		all = append(all, r)
	}
	if found.Figures, err = rollbackFigures(all); err != nil {
		return found, err
	}
	l := rollbackLoad
	for end := rollbackSlice; end < l.Length; end += rollbackSlice {
		l.Phases = append(l.Phases, end)
	}
	r, err := setBack(ctx, s, filepath.Join(s.dir, "plotted"), l)
	if err != nil {
		return found, err
	}
	found.Plots = rollbackPlots(r)
	return found, nil
}

// setBack puts the load on a new daemon and sets its clock back after rollbackBefore.
func setBack(ctx context.Context, s setting, dir string, l pace.Load) (pace.Result, error) {
	return setBy(ctx, s, dir, l, []time.Duration{-rollback}, noticed)
}

// stepEvery is the time between two settings of a clock that is set more than once.
const stepEvery = 100 * time.Millisecond

// setBy puts the load on a new daemon and, after rollbackBefore, sets its clock off by each of by in
// turn. noticed asks the daemon in the end whether it has met that.
func setBy(ctx context.Context, s setting, dir string, l pace.Load, by []time.Duration, noticed func(context.Context, host, *server.Server) error) (r pace.Result, err error) {
	h, err := newHost(s.binary, dir)
	if err != nil {
		return r, err
	}
	offset := filepath.Join(dir, "offset")
	h.env = []string{fault.Clock + "=" + offset}
	d, _, err := h.start(ctx)
	if err != nil {
		return r, err
	}
	defer d.Kill()
	l.Socket = h.socket
	p, begun, err := startPace(ctx, paced{Load: l})
	if err != nil {
		return r, atFault(d, err)
	}
	defer p.end()
	for i, off := range by {
		if err := pauseUntil(ctx, begun+int64(l.Warm+rollbackBefore+time.Duration(i)*stepEvery)); err != nil {
			return r, err
		}
		if err := os.WriteFile(offset, fmt.Appendf(nil, "%v\n", off), 0o600); err != nil {
			return r, err
		}
	}
	r, err = hearPace(p)
	if err != nil {
		return r, atFault(d, err)
	}
	return r, noticed(ctx, h, d)
}

// pauseUntil waits on purpose until CLOCK_MONOTONIC shows that many nanoseconds.
func pauseUntil(ctx context.Context, at int64) error {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &now); err != nil {
		return err
	}
	return pause(ctx, time.Duration(at-now.Nano()))
}

// rollbackFigures compare what came while the clock was behind with what came before.
func rollbackFigures(all []pace.Result) ([]report.Figure, error) {
	kept := report.Figure{Group: rollbackGroup, What: "throughput while the clock is behind, of before", Unit: report.Share}
	added := report.Figure{Group: rollbackGroup, What: "p99.9 added meanwhile", Unit: report.Seconds}
	before := report.Figure{Group: rollbackGroup, What: "p99.9 before", Unit: report.Seconds}
	during := report.Figure{Group: rollbackGroup, What: "p99.9 while the clock is behind", Unit: report.Seconds}
	longest := report.Figure{Group: rollbackGroup, What: "longest while the clock is behind", Unit: report.Seconds}
	var rates, late []float64
	for _, r := range all {
		if len(r.Phases) != 3 || !(r.Phases[0].Rate() > 0) {
			return nil, fmt.Errorf("a load of %d phases, with %d IDs in all", len(r.Phases), r.IDs)
		}
		a, b := r.Phases[0], r.Phases[1]
		kept.Ours = append(kept.Ours, b.Rate()/a.Rate())
		before.Ours = append(before.Ours, a.Latency.P999.Seconds())
		during.Ours = append(during.Ours, b.Latency.P999.Seconds())
		added.Ours = append(added.Ours, max(0, (b.Latency.P999-a.Latency.P999).Seconds()))
		longest.Ours = append(longest.Ours, b.Latency.Max.Seconds())
		rates, late = append(rates, a.Rate()), append(late, r.Late.P999.Seconds())
	}
	kept.Note = fmt.Sprintf("open loop, RUN 100 at 10,000 requests/s over 50 connections; %s IDs came before", report.Format(report.Rate, stat.Median(rates)))
	during.Note = fmt.Sprintf("the generator itself was %s late at the p99.9", report.Format(report.Seconds, stat.Median(late)))
	return []report.Figure{kept.AtLeast(0.95), added.AtMost(0.002), before, during, longest}, nil
}

// rollbackPlots draw one run in slices.
func rollbackPlots(r pace.Result) []report.Plot {
	rate := report.Line{Name: "IDs"}
	p50, p99 := report.Line{Name: "p50"}, report.Line{Name: "p99"}
	for _, p := range r.Phases {
		at := ((p.From+p.To)/2 - rollbackBefore).Seconds()
		rate.X, rate.Y = append(rate.X, at), append(rate.Y, p.Rate())
		p50.X, p50.Y = append(p50.X, at), append(p50.Y, max(p.Latency.P50, 1).Seconds())
		p99.X, p99.Y = append(p99.X, at), append(p99.Y, max(p.Latency.P99, 1).Seconds())
	}
	since := report.Axis{Label: "time since the clock was set back", Unit: report.Seconds}
	return []report.Plot{
		{
			Name: "rollback-rate", Group: rollbackGroup, Title: "IDs that came, while the clock is set back by 1.5 s",
			X: since, Y: report.Axis{Label: "IDs", Unit: report.Rate}, Lines: []report.Line{rate},
		},
		{
			Name: "rollback-latency", Group: rollbackGroup, Title: "Latency, while the clock is set back by 1.5 s",
			X: since, Y: report.Axis{Label: "latency", Unit: report.Seconds, Log: true}, Lines: []report.Line{p50, p99},
		},
	}
}

// infoOf is what the daemon says of itself.
func infoOf(ctx context.Context, h host, d *server.Server) (info.Info, error) {
	var text string
	err := ask(ctx, h.socket, func(in *wire.Reader) (err error) {
		text, err = in.Bulk()
		return err
	}, "INFO")
	if err != nil {
		return nil, atFault(d, err)
	}
	return info.Parse(text), nil
}

// noticed asks the daemon whether it met a clock that was behind: if not, nothing was measured.
func noticed(ctx context.Context, h host, d *server.Server) error {
	said, err := infoOf(ctx, h, d)
	if err != nil {
		return err
	}
	for _, answer := range []string{"answered_ring", "answered_release", "answered_backfill"} {
		if n, ok := said.Get(answer); ok && n != "0" {
			return nil
		}
	}
	return fmt.Errorf("the daemon has not noticed that its clock was set back by %v", rollback)
}
