package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/server"
)

const (
	lanesGroup  = "Runs over the socket, every ID expanded and compared"
	runCount    = 5000 // IDs that a request asks for: a little more than a tick of a lane has
	runWindow   = 4    // requests under way on a connection
	lanesRounds = 3    // of 10 s: a long round is its own median
)

// measureLanes has clients in processes of their own ask for runs, expand and compare every ID.
func measureLanes(ctx context.Context, s setting) (found report.Findings, err error) {
	length := 10 * time.Second
	if s.short {
		length = 500 * time.Millisecond
	}
	one, err := eatAll(ctx, s, "one", s.rounds(lanesRounds, 1), 1, appetite{Connections: 1, Count: runCount, Window: runWindow, Warm: time.Second, Length: length})
	if err != nil {
		return found, err
	}
	of := report.Figure{Group: lanesGroup, What: "one lane, one client: of the layout's 4,096,000/s", Unit: report.Share}
	rate := report.Figure{Group: lanesGroup, What: "one lane, one client", Unit: report.Rate}
	cores := report.Figure{Group: lanesGroup, What: "one lane, one client: the daemon's processor time, of one core", Unit: report.Share}
	for _, m := range one {
		rate.Ours, of.Ours, cores.Ours = append(rate.Ours, m.rate), append(of.Ours, m.rate/ceiling), append(cores.Ours, m.cores)
	}
	rate.Note = fmt.Sprintf("RUN %d, %d under way, %v; every ID set in a bitmap by the client", runCount, runWindow, length)
	found.Figures = append(found.Figures, rate, of.AtLeast(0.99), cores.AtMost(0.15), duplicates("one lane, one client", one))

	const lanes, clients = 4, 2
	what := fmt.Sprintf("%d lanes, %d clients", lanes, clients)
	four, err := eatAll(ctx, s, "four", s.rounds(lanesRounds, 1), clients, appetite{Connections: lanes, Count: runCount, Window: runWindow, Warm: time.Second, Length: length},
		"--lanes", strconv.Itoa(lanes))
	if err != nil {
		return found, err
	}
	rate, cores = report.Figure{Group: lanesGroup, What: what, Unit: report.Rate}, report.Figure{Group: lanesGroup, What: what + ": the daemon's processor time, of one core", Unit: report.Share}
	for _, m := range four {
		rate.Ours, cores.Ours = append(rate.Ours, m.rate), append(cores.Ours, m.cores)
	}
	rate.Note = fmt.Sprintf("--lanes %d; RUN %d, %d connections each, %d under way on each; at most %d x 4,096,000", lanes, runCount, lanes, runWindow, lanes)
	found.Figures = append(found.Figures, rate.AtLeast(12e6), cores, duplicates(what, four))
	return found, nil
}

// eating is what a round of clients measured.
type eating struct {
	rate, cores     float64
	all, duplicates int64
}

// duplicates is the figure of how many IDs were given twice, of all that were compared.
func duplicates(what string, rounds []eating) report.Figure {
	f := report.Figure{Group: lanesGroup, What: what + ": IDs given twice", Unit: report.Number}
	all := int64(0)
	for _, r := range rounds {
		f.Ours = append(f.Ours, float64(r.duplicates))
		all += r.all
	}
	f.Note = fmt.Sprintf("of %s that were compared", report.Format(report.Number, float64(all)))
	return f.EachAtMost(0)
}

// eatAll starts a daemon with flags and has that many clients eat, in rounds.
func eatAll(ctx context.Context, s setting, name string, rounds, clients int, a appetite, flags ...string) (all []eating, err error) {
	h, err := newHost(s.binary, filepath.Join(s.dir, name), flags...)
	if err != nil {
		return nil, err
	}
	d, _, err := h.start(ctx)
	if err != nil {
		return nil, err
	}
	defer d.Kill()
	a.Socket = h.socket
	for round := range rounds {
		one, err := eatOnce(ctx, d, filepath.Join(s.dir, fmt.Sprint(name, "-ids", round)), clients, a)
		if err != nil {
			return all, atFault(d, err)
		}
		all = append(all, one)
	}
	return all, nil
}

// eatOnce is one round: the clients' rates together, and what all their IDs are when put together.
func eatOnce(ctx context.Context, d *server.Server, dir string, clients int, a appetite) (m eating, err error) {
	var eaters []*self
	var dirs []string
	defer func() {
		for _, e := range eaters {
			e.end()
		}
	}()
	for i := range clients {
		a.Files = filepath.Join(dir, strconv.Itoa(i))
		e, err := startExpand(ctx, a)
		if err != nil {
			return m, err
		}
		eaters, dirs = append(eaters, e), append(dirs, a.Files)
	}
	if err := pause(ctx, a.Warm); err != nil { // all of them are at work by then
		return m, err
	}
	used, err := d.CPU()
	if err != nil {
		return m, err
	}
	from := time.Now()
	if err := pause(ctx, a.Length*9/10); err != nil {
		return m, err
	}
	now, err := d.CPU()
	if err != nil {
		return m, err
	}
	m.cores = (now - used).Seconds() / time.Since(from).Seconds()
	for _, e := range eaters {
		var got eaten
		if err := e.hear(&got); err != nil {
			return m, err
		}
		m.rate += float64(got.IDs) / got.Took.Seconds()
		m.all += got.All
		m.duplicates += got.Duplicates
	}
	ids, err := together(dirs...)
	if err != nil {
		return m, err
	}
	// A duplicate within a connection is one bit in its file.
	if lost := m.all - m.duplicates - ids.Count(); lost != 0 {
		return m, fmt.Errorf("the clients counted %d IDs, %d of them twice, and their files hold %d", m.all, m.duplicates, ids.Count())
	}
	m.duplicates += ids.Duplicates()
	if m.all == 0 {
		return m, errors.New("no IDs came")
	}
	return m, nil
}
