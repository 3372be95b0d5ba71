package serve

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/peercred"
	"github.com/flakeward/flakeward/daemon/resp"
)

const (
	// After an accept that failed, usually because there is no file descriptor left, the next is
	// tried after a pause that grows.
	shortestPause = 5 * time.Millisecond
	longestPause  = time.Second

	// fullPause follows a client that got a place in the reserve, or another's. So a connection of
	// the reserve lives for as many of these pauses as the reserve has places.
	fullPause = 2 * time.Millisecond

	// refusals is how many clients are refused in a second, so that those who connect again and
	// again take little of the processor. Others stand behind them in the kernel's queue, so as
	// many as that has room for are refused without a pause: net.core.somaxconn is 4096 unless it
	// was changed.
	refusals      = 20000
	refusalsAhead = 4096
)

// accept hands a listener's connections to the engine until the listener is closed or ctx ends. A
// peer that cannot be served is dropped, and accepting goes on.
func (s *Server) accept(ctx context.Context, e engine, l net.Listener) error {
	var pause time.Duration
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			if pause = s.admit(e, c); pause == 0 {
				continue
			}
		case ctx.Err() != nil:
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		default:
			pause = min(max(2*pause, shortestPause), longestPause)
			s.counts.refused[NotAccepted].Add(1)
			s.config.Log.Warn("cannot accept a connection; retrying", "error", err, "after", pause)
		}
		if s.config.Clock.Sleep(ctx, pause) != nil {
			return nil
		}
	}
}

// admit hands a connection to the engine, unless its user may not connect or there are too many. It
// returns how long to wait before the next.
func (s *Server) admit(e engine, c net.Conn) time.Duration {
	g := client{who: peercred.Of(c)}
	if allow := s.config.Allow; allow != nil && !allow(g.who) {
		s.refuse(c, g, NotAllowed, resp.Refuse(resp.NotAllowed, g.who.User()))
		return s.paced()
	}
	if g.verdict, g.from = s.counts.connections.Come(g.user()); g.verdict == budget.Refuse {
		kind := resp.TooManyConnections
		if s.counts.connections.Of(g.user()) == 0 {
			kind = resp.NoConnectionLeft
		}
		s.refuse(c, g, Full, resp.Refuse(kind, s.counts.connections.Limit()))
		return s.paced()
	}
	s.counts.accepted.Add(1)
	g.id = s.admitted.Add(1)
	if err := e.add(c, g); err != nil {
		s.counts.end(g.user())
		s.config.Log.Warn("a connection is dropped", "error", err)
	}
	if g.verdict == budget.Admit {
		return 0
	}
	return fullPause
}

// paced returns how long to wait after a client that was refused.
func (s *Server) paced() time.Duration {
	now := time.Unix(0, int64(s.config.Clock.Now().Mono))
	return s.refusals.ReserveN(now, 1).DelayFrom(now)
}

func (s *Server) refuse(c net.Conn, g client, why Reason, r *resp.Refusal) {
	s.counts.refused[why].Add(1)
	// The reply fits into the buffer of a new connection, so this does not block.
	_, _ = c.Write(r.Append(nil))
	_ = c.Close()
	s.config.Log.Warn("a client gets no connection", "code", why, "user", g.who.User(), "pid", g.who.PID)
}
