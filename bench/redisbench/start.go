package redisbench

import (
	"context"
	"path/filepath"

	"github.com/flakeward/flakeward/bench/server"
)

// Server is the name of Redis's executable.
const Server = "redis-server"

// Start starts a Redis that keeps nothing on disk, with more arguments, and does not wait until it
// listens: that it does on a socket in the directory only.
func Start(ctx context.Context, dir string, args ...string) (s *server.Server, socket string, err error) {
	socket = filepath.Join(dir, "s")
	s, err = server.Start(ctx, server.Program{Path: Server, Args: append([]string{
		"--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", dir,
	}, args...)})
	return s, socket, err
}
