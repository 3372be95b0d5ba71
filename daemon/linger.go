package daemon

import (
	"context"
	"net"
	"time"

	"github.com/flakeward/flakeward/clockguard"
)

// dialAgain is how long a daemon that was replaced waits before it connects again.
const dialAgain = 100 * time.Millisecond

// Run makes a daemon and runs it until ctx ends, or another process has taken over and
// TakeoverLinger is over.
func Run(ctx context.Context, c Config) error {
	d, err := New(c)
	if err != nil {
		return err
	}
	if err := d.Run(ctx); err != nil || !d.handedOver {
		return err
	}
	linger(ctx, d)
	return nil
}

// linger keeps a process that has handed over from ending at once: a supervisor that starts
// whatever ends would have it take over again. It returns when ctx ends, when nobody serves the
// socket any more, so that this process has to be started again, or after TakeoverLinger.
func linger(ctx context.Context, d *Daemon) {
	limit := d.config.TakeoverLinger
	if limit <= 0 {
		return
	}
	d.log.Info("another daemon serves; waiting for the end", "limit", limit)
	ctx, cancel := clockguard.WithTimeout(ctx, d.clock, limit)
	defer cancel()
	for ctx.Err() == nil {
		c, err := new(net.Dialer).DialContext(ctx, "unix", d.config.Socket.Path)
		if err != nil {
			if ctx.Err() == nil {
				d.log.Info("nobody serves the socket any more; ending, to be started again", "error", err)
			}
			return
		}
		// Nothing is asked, so nothing comes but the end.
		stop := context.AfterFunc(ctx, func() { _ = c.Close() })
		_, _ = c.Read(make([]byte, 1))
		stop()
		_ = c.Close()
		_ = d.clock.Sleep(ctx, dialAgain)
	}
}
