package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
	"github.com/flakeward/flakeward/bench/server"
	"github.com/flakeward/flakeward/bench/stat"
)

// ceiling is how many IDs a second the default layout has: 12 bits of sequence in each millisecond.
const ceiling = 4096 * 1000

// bulk are ways to ask for many IDs at once. The last has as many under way as the first.
var bulk = []order{
	{Run: true, Count: 5000, Window: 4},
	{Count: 1000, Window: 4},
	{Count: 1000, Window: 20},
}

func (o order) String() string {
	word := "NEXT"
	if o.Run {
		word = "RUN"
	}
	return fmt.Sprintf("%s %d, %d under way", word, o.Count, o.Window)
}

// starts are the ways to begin a tick: as a daemon does by itself, and at number 0.
var starts = []string{"rolling", "zero"}

// measureClient has one client in a process of its own ask for as much as it gets, in each way in
// turn, of a daemon whose ticks begin where the last one stopped and of one whose begin at 0.
func measureClient(ctx context.Context, s setting) (found report.Findings, err error) {
	var entered []rounds.Contestant[float64]
	var daemons []*server.Server
	for _, start := range starts {
		h, err := newHost(s.binary, filepath.Join(s.dir, start), "--sequence-start", start)
		if err != nil {
			return found, err
		}
		d, _, err := h.start(ctx)
		if err != nil {
			return found, err
		}
		defer d.Kill()
		daemons = append(daemons, d)
		for _, o := range bulk {
			o.Socket, o.Warm, o.Length = h.socket, 500*time.Millisecond, s.length(2*time.Second)
			entered = append(entered, rounds.Contestant[float64]{Name: o.String() + " " + start, Measure: func(ctx context.Context) (float64, error) {
				p, err := watched(ctx, o, d, new(server.Memory))
				return p.rate(), err
			}})
		}
	}
	got, err := rounds.Interleave(ctx, s.rounds(fullRounds, 2), entered...)
	if err != nil {
		return found, err
	}
	share := func(rate float64) float64 { return rate / ceiling }
	for i, o := range bulk {
		found.Figures = append(found.Figures, report.Figure{
			Group: "One client", What: fmt.Sprintf("%v, of the layout's ceiling", o), Unit: report.Share,
			Ours: rounds.Column(got[i], share),
			Peer: "--sequence-start zero", Theirs: rounds.Column(got[len(bulk)+i], share),
			Note: fmt.Sprintf("%s of %s delivered to another process",
				report.Format(report.Rate, stat.Median(got[i])), report.Format(report.Rate, ceiling)),
		}.AtLeast(0.99))
	}
	for _, d := range daemons {
		err = errors.Join(err, d.Stop())
	}
	return found, err
}

// grownBy starts a daemon, pulls from it in each way of bulk, and returns how large the daemon grew
// meanwhile.
func grownBy(ctx context.Context, s setting, h host) (m server.Memory, err error) {
	d, _, err := h.start(ctx)
	if err != nil {
		return m, err
	}
	defer d.Kill()
	for _, o := range bulk {
		o.Socket, o.Length = h.socket, s.length(1200*time.Millisecond)
		if _, err := watched(ctx, o, d, &m); err != nil {
			return m, err
		}
	}
	return m, d.Stop()
}

// watched pulls, and notes the largest memory that is seen meanwhile.
func watched(ctx context.Context, o order, d *server.Server, largest *server.Memory) (pulled, error) {
	client, err := startPull(ctx, o)
	if err != nil {
		return pulled{}, err
	}
	defer client.end()
	ticker := time.NewTicker(100 * time.Millisecond)
	defer ticker.Stop()
	type outcome struct {
		pulled
		err error
	}
	done := make(chan outcome, 1)
	go func() { // it ends with the client
		var r outcome
		r.err = client.hear(&r.pulled)
		done <- r
	}()
	for {
		select {
		case <-ticker.C:
			m, err := d.Memory()
			if err != nil {
				return pulled{}, err
			}
			largest.Resident, largest.Peak = max(largest.Resident, m.Resident), max(largest.Peak, m.Peak)
		case r := <-done:
			if r.err == nil && r.Refused > 0 {
				r.err = fmt.Errorf("the daemon refused %d requests of %v", r.Refused, o)
			}
			if r.err == nil && r.Took < o.Length {
				r.err = fmt.Errorf("the daemon ended the connection after %v of %v", r.Took, o)
			}
			return r.pulled, r.err
		}
	}
}
