package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
	"github.com/flakeward/flakeward/bench/server"
)

const (
	lanesGroup  = "Runs over the socket, every ID expanded and compared"
	runCount    = 5000 // IDs that a request asks for: a little more than a tick of a lane has
	runWindow   = 4    // requests under way on a connection
	lanesRounds = 3    // of 10 s: a long round is its own median
)

// measureLanes has clients in processes of their own ask for runs, expand and compare every ID,
// from a daemon of one lane and from one of several in turn.
func measureLanes(ctx context.Context, s setting) (found report.Findings, err error) {
	length := 10 * time.Second
	if s.short {
		length = 500 * time.Millisecond
	}
	const lanes, clients = 4, 2
	got, err := expandAll(ctx, s,
		table{name: "one", clients: 1, expandLoad: expandLoad{Connections: 1, Count: runCount, Window: runWindow, Warm: time.Second, Length: length}},
		table{
			name: "four", clients: clients, expandLoad: expandLoad{Connections: lanes, Count: runCount, Window: runWindow, Warm: time.Second, Length: length},
			flags: []string{"--lanes", strconv.Itoa(lanes)},
		})
	if err != nil {
		return found, err
	}
	one, four := got[0], got[1]
	of := report.Figure{Group: lanesGroup, What: "one lane, one client: of the layout's 4,096,000/s", Unit: report.Share}
	rate := report.Figure{Group: lanesGroup, What: "one lane, one client", Unit: report.Rate}
	cores := report.Figure{Group: lanesGroup, What: "one lane, one client: the daemon's processor time, of one core", Unit: report.Share}
	for _, m := range one {
		rate.Ours, of.Ours, cores.Ours = append(rate.Ours, m.rate), append(of.Ours, m.rate/ceiling), append(cores.Ours, m.cores)
	}
	rate.Note = fmt.Sprintf("RUN %d, %d under way, %v; every ID set in a bitmap by the client", runCount, runWindow, length)
	found.Figures = append(found.Figures, rate, of.AtLeast(0.99), cores.AtMost(0.15), duplicates("one lane, one client", one))

	what := fmt.Sprintf("%d lanes, %d clients", lanes, clients)
	rate, cores = report.Figure{Group: lanesGroup, What: what, Unit: report.Rate}, report.Figure{Group: lanesGroup, What: what + ": the daemon's processor time, of one core", Unit: report.Share}
	for _, m := range four {
		rate.Ours, cores.Ours = append(rate.Ours, m.rate), append(cores.Ours, m.cores)
	}
	rate.Note = fmt.Sprintf("--lanes %d; RUN %d, %d connections each, %d under way on each; at most %d x 4,096,000", lanes, runCount, lanes, runWindow, lanes)
	found.Figures = append(found.Figures, rate.AtLeast(12e6), cores, duplicates(what, four))
	return found, nil
}

// expandResult is what a round of clients measured.
type expandResult struct {
	rate, cores     float64
	all, duplicates int64
}

// duplicates is the figure of how many IDs were given twice, of all that were compared.
func duplicates(what string, of []expandResult) report.Figure {
	f := report.Figure{Group: lanesGroup, What: what + ": IDs given twice", Unit: report.Number}
	all := int64(0)
	for _, r := range of {
		f.Ours = append(f.Ours, float64(r.duplicates))
		all += r.all
	}
	f.Note = fmt.Sprintf("of %s that were compared", report.Format(report.Number, float64(all)))
	return f.EachAtMost(0)
}

// table is a daemon, by its flags, and the clients that eat from it.
type table struct {
	name       string
	flags      []string
	clients    int
	expandLoad expandLoad // of each
}

// expandAll starts the daemons and has the clients of each eat in turn.
func expandAll(ctx context.Context, s setting, tables ...table) ([][]expandResult, error) {
	var entered []rounds.Contestant[expandResult]
	for _, t := range tables {
		h, err := newHost(s.binary, filepath.Join(s.dir, t.name), t.flags...)
		if err != nil {
			return nil, err
		}
		d, _, err := h.start(ctx)
		if err != nil {
			return nil, err
		}
		defer d.Kill()
		t.expandLoad.Socket = h.socket
		round := 0
		entered = append(entered, rounds.Contestant[expandResult]{Name: t.name, Measure: func(ctx context.Context) (expandResult, error) {
			round++
			got, err := expandOnce(ctx, d, filepath.Join(s.dir, fmt.Sprint(t.name, "-ids", round)), t.clients, t.expandLoad)
			return got, atFault(d, err)
		}})
	}
	return rounds.Interleave(ctx, s.rounds(fullRounds, 1), entered...)
}

// expandOnce is one round: the clients' rates together, and what all their IDs are when put together.
func expandOnce(ctx context.Context, d *server.Server, dir string, clients int, a expandLoad) (m expandResult, err error) {
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
