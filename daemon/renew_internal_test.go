package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// timeouts is a clock whose timeouts end when the test says so.
type timeouts struct {
	clockguard.Waiter // its other methods are not called
	begun             chan context.CancelFunc
}

func (c timeouts) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	c.begun <- cancel
	return ctx, cancel
}

// A program that neither takes over nor ends is not waited for without end, nor by a daemon that ends.
func TestRenewIsNotAwaitedForever(t *testing.T) {
	for want, over := range map[string]func(late context.CancelFunc, r *renewal){
		"not taken over in time": func(late context.CancelFunc, _ *renewal) { late() },
		"the daemon ends":        func(_ context.CancelFunc, r *renewal) { r.end(t.Context(), errEnding) },
	} {
		dir, clock := sockettest.Dir(t), timeouts{begun: make(chan context.CancelFunc, 1)}
		r := &renewal{start: func() (<-chan struct{}, error) { return nil, nil }, clock: clock, log: hclog.NewNullLogger()}
		l, err := takeover.Listen(dir, "old", func() takeover.Settings { return takeover.Settings{} }, hclog.NewNullLogger())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		asked, ended := make(chan error, 1), make(chan struct{})
		go func() {
			defer close(ended)
			_, _ = l.Await(ctx, func(context.Context) error { return nil }, func(a *takeover.Asker) { r.ask(ctx, a) })
		}()
		go func() { asked <- takeover.Renew(t.Context(), dir) }()
		over(<-clock.begun, r)
		if err := <-asked; err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("who asked hears %v, want %q", err, want)
		}
		cancel()
		<-ended
		if err := l.Close(); err != nil {
			t.Error(err)
		}
	}
}
