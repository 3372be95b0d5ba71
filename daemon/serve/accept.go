package serve

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/flakeward/flakeward/daemon/resp"
)

// After an accept that failed, usually because there is no file descriptor left, the next is tried
// after a pause that grows.
const (
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second
)

// accept hands connections to the engine until the listener is closed or ctx ends. A peer that
// cannot be served is dropped, and accepting goes on.
func (s *Server) accept(ctx context.Context, e engine, l net.Listener) error {
	var pause time.Duration
	for {
		c, err := l.Accept()
		if err != nil {
			if ctx.Err() != nil {
				return nil
			}
			if errors.Is(err, net.ErrClosed) {
				return err
			}
			pause = min(max(2*pause, shortestPause), longestPause)
			s.config.Log.Warn("a connection cannot be accepted; trying again", "error", err, "after", pause)
			if s.config.Clock.Sleep(ctx, pause) != nil {
				return nil
			}
			continue
		}
		pause = 0
		s.admit(e, c)
	}
}

// admit hands a connection to the engine, unless there are too many.
func (s *Server) admit(e engine, c net.Conn) {
	if limit := s.config.Limits.Connections; s.counts.open() >= uint64(limit) {
		s.counts.rejected.Add(1)
		// The reply fits into the buffer of a new connection, so this does not block.
		_, _ = c.Write(resp.Refuse(resp.TooManyConnections, limit).Append(nil))
		_ = c.Close()
		return
	}
	s.counts.accepted.Add(1)
	if err := e.add(c, s.admitted.Add(1)); err != nil {
		s.counts.ended.Add(1)
		s.config.Log.Warn("a connection is dropped", "error", err)
	}
}
