package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/server"
)

// ceiling is how many IDs a second the default layout has: 12 bits of sequence in each millisecond.
const ceiling = 4096 * 1000

// bulk are the two ways to ask for many IDs at once.
var bulk = []order{
	{run: true, count: 5000, window: 4},
	{count: 1000, window: 4},
}

func (o order) String() string {
	if o.run {
		return fmt.Sprintf("RUN %d", o.count)
	}
	return fmt.Sprintf("NEXT %d", o.count)
}

// measureClient has one client in a process of its own ask for as much as it gets.
func measureClient(ctx context.Context, s setting) (found report.Findings, err error) {
	h, err := newHost(s.binary, filepath.Join(s.dir, "host"))
	if err != nil {
		return found, err
	}
	got, _, err := pullAll(ctx, s, h)
	if err != nil {
		return found, err
	}
	for i, o := range bulk {
		found.Figures = append(found.Figures, report.Figure{
			Group: "One client", What: fmt.Sprintf("%v, of the layout's ceiling", o), Unit: report.Share, Ours: []float64{got[i].rate() / ceiling},
			Note: fmt.Sprintf("%s of %s delivered to another process, %d requests under way", report.Format(report.Rate, got[i].rate()), report.Format(report.Rate, ceiling), o.window),
		}.AtLeast(0.95))
	}
	return found, nil
}

// pullAll starts a daemon, pulls from it in each way of bulk, and returns what was pulled and how large the daemon grew meanwhile.
func pullAll(ctx context.Context, s setting, h host) (got []pulled, m server.Memory, err error) {
	d, _, err := h.start(ctx)
	if err != nil {
		return nil, m, err
	}
	defer d.Kill()
	length := 5 * time.Second
	if s.short {
		length = time.Second
	}
	for _, o := range bulk {
		o.socket, o.warm, o.length = h.socket, 500*time.Millisecond, length
		p, err := watched(ctx, o, d, &m)
		if err != nil {
			return nil, m, err
		}
		got = append(got, p)
	}
	return got, m, d.Stop()
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
			if r.err == nil && r.Took < o.length {
				r.err = fmt.Errorf("the daemon ended the connection after %v of %v", r.Took, o)
			}
			return r.pulled, r.err
		}
	}
}
