package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/rounds"
	"github.com/flakeward/flakeward/bench/server"
	"github.com/flakeward/flakeward/bench/stat"
)

const memoryGroup = "Memory"

// memoryKind is a way to run the daemon, and how large it may grow.
type memoryKind struct {
	what  string
	limit float64 // bytes
	flags []string
}

// measureMemory looks at the daemon's memory under the load of measureClient, with its own
// coordinator and with one elsewhere in turn.
func measureMemory(ctx context.Context, s setting) (found report.Findings, err error) {
	etcd, address, err := startEtcd(ctx, filepath.Join(s.dir, "etcd"))
	if err != nil {
		return found, err
	}
	defer etcd.end()
	kinds := []memoryKind{{"embedded etcd", 45e6, nil}, {"etcd elsewhere", 25e6, []string{"--coord", "etcd://" + address + "/bench"}}}
	started := 0
	var entered []rounds.Contestant[server.Memory]
	for _, k := range kinds {
		entered = append(entered, rounds.Contestant[server.Memory]{Name: k.what, Measure: func(ctx context.Context) (server.Memory, error) {
			started++
			h, err := newHost(s.binary, filepath.Join(s.dir, fmt.Sprint("host", started)), k.flags...)
			if err != nil {
				return server.Memory{}, err
			}
			return grownBy(ctx, s, h)
		}})
	}
	got, err := rounds.Interleave(ctx, s.rounds(fullRounds, 1), entered...)
	if err != nil {
		return found, err
	}
	for i, k := range kinds {
		found.Figures = append(found.Figures, k.figure(got[i]))
	}
	return found, nil
}

// figure is that of all starts.
func (k memoryKind) figure(got []server.Memory) report.Figure {
	peak := rounds.Column(got, func(m server.Memory) float64 { return float64(m.Peak) })
	resident := rounds.Column(got, func(m server.Memory) float64 { return float64(m.Resident) })
	return report.Figure{
		Group: memoryGroup, What: k.what, Unit: report.Bytes, Ours: peak,
		Note: fmt.Sprintf("largest resident size ever (VmHWM), a daemon of its own each time; largest seen under load (VmRSS) %s", report.Format(report.Bytes, stat.Median(resident))),
	}.AtMost(k.limit)
}
