package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// measureMemory looks at the daemon's memory under the load of measureClient, with its own coordinator and with one elsewhere.
func measureMemory(ctx context.Context, s setting) ([]figure, error) {
	own, err := memoryFigure(ctx, s, "memory, embedded etcd", 45)
	if err != nil {
		return nil, err
	}
	etcd, address, err := startEtcd(ctx, filepath.Join(s.dir, "etcd"))
	if err != nil {
		return []figure{own}, err
	}
	defer etcd.end()
	remote, err := memoryFigure(ctx, s, "memory, etcd elsewhere", 25, "--coord", "etcd://"+address+"/bench")
	if err != nil {
		return []figure{own}, err
	}
	return []figure{own, remote}, nil
}

// memoryFigure runs a daemon with the given flags; the limit is in MB.
func memoryFigure(ctx context.Context, s setting, what string, limit float64, flags ...string) (figure, error) {
	h, err := newHost(s.binary, filepath.Join(s.dir, fmt.Sprint("host", len(flags))), flags...)
	if err != nil {
		return figure{}, err
	}
	_, m, err := pullAll(ctx, s, h)
	if err != nil {
		return figure{}, err
	}
	return figure{
		what: what,
		got:  megabytes(m.Peak),
		more: fmt.Sprintf("largest resident size ever (VmHWM); largest seen under load (VmRSS) %s", megabytes(m.Resident)),
	}.atMost(float64(m.Peak), limit*1e6, fmt.Sprintf("%.0f MB", limit)), nil
}
