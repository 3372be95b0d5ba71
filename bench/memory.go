package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/flakeward/flakeward/bench/report"
)

// measureMemory looks at the daemon's memory under the load of measureClient, with its own coordinator and with one elsewhere.
func measureMemory(ctx context.Context, s setting) (found report.Findings, err error) {
	own, err := memoryFigure(ctx, s, "embedded etcd", 45)
	if err != nil {
		return found, err
	}
	found.Figures = append(found.Figures, own)
	etcd, address, err := startEtcd(ctx, filepath.Join(s.dir, "etcd"))
	if err != nil {
		return found, err
	}
	defer etcd.end()
	remote, err := memoryFigure(ctx, s, "etcd elsewhere", 25, "--coord", "etcd://"+address+"/bench")
	if err != nil {
		return found, err
	}
	found.Figures = append(found.Figures, remote)
	return found, nil
}

// memoryFigure runs a daemon with the given flags; the limit is in MB.
func memoryFigure(ctx context.Context, s setting, what string, limit float64, flags ...string) (report.Figure, error) {
	h, err := newHost(s.binary, filepath.Join(s.dir, fmt.Sprint("host", len(flags))), flags...)
	if err != nil {
		return report.Figure{}, err
	}
	_, m, err := pullAll(ctx, s, h)
	if err != nil {
		return report.Figure{}, err
	}
	return report.Figure{
		Group: "Memory", What: what, Unit: report.Bytes, Ours: []float64{float64(m.Peak)},
		Note: fmt.Sprintf("largest resident size ever (VmHWM); largest seen under load (VmRSS) %s", report.Format(report.Bytes, float64(m.Resident))),
	}.AtMost(limit * 1e6), nil
}
