package main

import (
	"context"
	"fmt"
	"os"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
	"github.com/flakeward/flakeward/e2e/load"
	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/wire"
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

// redisWorker is the worker ID in the IDs that a script makes; any would do.
const redisWorker = 7

// redisScript makes IDs of 41 bits of milliseconds since 1970, 12 of the worker and 10 of the
// sequence (the layout "redis"). The last millisecond and sequence are kept in one key as one
// number, which is below 2^53 and so exact in Lua: an ID costs one GET and one SET, and none is
// given twice, not even when the clock goes back. The ID itself is too large for a number, so its
// digits are put together from two.
const redisScript = `
local time = redis.call('TIME')
local now = (time[1] * 1000 + math.floor(time[2] / 1000)) * 1024
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
local this = last < now and now or last + 1
redis.call('SET', KEYS[1], string.format('%.0f', this))
local ms = math.floor(this / 1024)
local low = (ms % 1000000) * 4194304 + ARGV[1] * 1024 + this % 1024
return string.format('%.0f%06.0f', math.floor(ms / 1000000) * 4194304 + math.floor(low / 1000000), low % 1000000)
`

// scripted is the request that has Redis make IDs by redisScript, once it is loaded into the server
// at that socket.
func scripted(ctx context.Context, socket string) ([]string, error) {
	digest, err := load.Ask(ctx, socket, (*wire.Reader).Bulk, "SCRIPT", "LOAD", redisScript)
	if err != nil {
		return nil, fmt.Errorf("the script is not taken by Redis: %w", err)
	}
	return []string{"EVALSHA", digest, "1", "ids", fmt.Sprint(redisWorker)}, nil
}
