package redisbench

import (
	"context"
	"net"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/internal/process"
)

// Server is the name of Redis's executable.
const Server = "redis-server"

// knock is how often a server that does not listen yet is dialled.
const knock = 5 * time.Millisecond

// Start starts a Redis that keeps nothing on disk, with more arguments, and waits until it listens:
// that it does on a socket in the directory only.
func Start(ctx context.Context, dir string, args ...string) (s *process.Process, socket string, err error) {
	socket = filepath.Join(dir, "s")
	s, err = process.Start(ctx, process.Program{Command: append([]string{
		Server, "--port", "0", "--unixsocket", socket, "--save", "", "--appendonly", "no", "--daemonize", "no", "--dir", dir,
	}, args...)})
	if err != nil {
		return nil, "", err
	}
	for {
		c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
		if err == nil {
			return s, socket, c.Close()
		}
		select {
		case <-time.After(knock):
		case <-s.Ended(): // as it does when ctx ends
			return nil, "", s.Gone()
		}
	}
}
