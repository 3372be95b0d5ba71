package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/flakeward/flakeward/bench/server"
	"github.com/flakeward/flakeward/e2e/wire"
)

// peer is a server that answers redis-benchmark on a Unix socket.
type peer struct {
	name    string
	command []string // the request that is measured
	start   func(ctx context.Context, s setting, dir string) (*server.Server, string, error)
}

// ours is the daemon with its defaults.
var ours = peer{
	name:    "flakeward",
	command: []string{"NEXT"},
	start: func(ctx context.Context, s setting, dir string) (*server.Server, string, error) {
		h, err := newHost(s.binary, dir)
		if err != nil {
			return nil, "", err
		}
		d, _, err := h.start(ctx)
		return d, h.socket, err
	},
}

// redisServer is the name of the executable.
const redisServer = "redis-server"

// redis is a counter in a Redis that keeps nothing on disk.
var redis = peer{
	name:    "Redis",
	command: []string{"INCR", "k"},
	start: func(ctx context.Context, _ setting, dir string) (*server.Server, string, error) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, "", err
		}
		socket := filepath.Join(dir, "s")
		s, err := server.Start(ctx, server.Program{Path: redisServer, Args: []string{
			"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", dir,
		}})
		if err != nil {
			return nil, "", err
		}
		// The answer to ECHO is a bulk string, which the reader knows.
		err = await(ctx, s, socket, func(in *wire.Reader) error {
			_, err := in.Bulk()
			return err
		}, "ECHO", "hello")
		if err != nil {
			s.Kill()
			return nil, "", err
		}
		return s, socket, nil
	},
}

func (p peer) what() string { return p.name + " " + strings.Join(p.command, " ") }
