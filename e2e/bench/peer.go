package main

import (
	"context"
	"os"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/internal/process"
)

// peer is a server that answers redis-benchmark on a Unix socket.
type peer struct {
	name    string
	command []string // the request that is measured
	start   func(ctx context.Context, s setting, dir string) (*process.Process, string, error)
}

// ours is the daemon with its defaults.
var ours = oursWith()

// oursWith is the daemon with flags.
func oursWith(flags ...string) peer {
	return peer{
		name:    "flakeward",
		command: []string{"NEXT"},
		start: func(ctx context.Context, s setting, dir string) (*process.Process, string, error) {
			h, err := newHost(s.binary, dir, flags...)
			if err != nil {
				return nil, "", err
			}
			d, _, err := start(ctx, h)
			return d, h.Socket, err
		},
	}
}

// redis is a counter in a Redis that keeps nothing on disk.
var redis = redisWith()

// redisWith is that with more arguments.
func redisWith(args ...string) peer {
	return peer{
		name:    "Redis",
		command: []string{"INCR", "k"},
		start: func(ctx context.Context, _ setting, dir string) (*process.Process, string, error) {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return nil, "", err
			}
			return redisbench.Start(ctx, dir, args...)
		},
	}
}

// redisVersions notes what Redis and its load generator are.
func redisVersions(ctx context.Context, f *report.Findings) {
	f.Version("Redis", says(ctx, redisbench.Server, "--version"))
	f.Version(redisbench.Program, says(ctx, redisbench.Program, "--version"))
}
