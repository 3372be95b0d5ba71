package daemon

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/takeover"
	"github.com/flakeward/flakeward/internal/logtest"
	"github.com/flakeward/flakeward/internal/must"
	"github.com/flakeward/flakeward/internal/sockettest"
)

// timeouts is a clock whose timeouts end when the test says so. It tells of their use, and of its
// end.
type timeouts struct {
	clockguard.Waiter // its other methods are not called
	begun             chan context.CancelFunc
	over              chan struct{}
}

func (c timeouts) WithTimeout(ctx context.Context, _ time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	c.begun <- cancel
	return ctx, func() { cancel(); close(c.over) }
}

// A program that neither takes over nor ends is not waited for without end, nor by a daemon that
// ends. Who asked hears one answer, and the log has no other: what comes after it is of no account.
func TestRenewIsNotAwaitedForever(t *testing.T) {
	const failed = "nobody has taken over"
	for want, end := range map[string]func(late context.CancelFunc, ended chan struct{}, r *renewal){
		"not taken over in time": func(late context.CancelFunc, _ chan struct{}, _ *renewal) { late() },
		"has ended":              func(_ context.CancelFunc, ended chan struct{}, _ *renewal) { close(ended) },
		"the daemon ends":        func(_ context.CancelFunc, _ chan struct{}, r *renewal) { r.end(t.Context(), errEnding) },
		"":                       func(_ context.CancelFunc, _ chan struct{}, r *renewal) { r.end(t.Context(), nil) }, // as at a takeover
	} {
		t.Run(want, func(t *testing.T) {
			var log logtest.Buffer
			dir, clock, program := sockettest.Dir(t), timeouts{begun: make(chan context.CancelFunc, 1), over: make(chan struct{})}, make(chan struct{})
			r := &renewal{start: func() (<-chan struct{}, error) { return program, nil }, clock: clock, log: hclog.New(&hclog.LoggerOptions{Output: &log})}
			l := must.Get(takeover.Listen(dir, "old", func() takeover.Settings { return takeover.Settings{} }, hclog.NewNullLogger()))(t)
			ctx, cancel := context.WithCancel(t.Context())
			asked, ended := make(chan error, 1), make(chan struct{})
			go func() {
				defer close(ended)
				_, _ = l.Await(ctx, func(context.Context) error { return nil }, func(a *takeover.Asker) { r.ask(ctx, a) })
			}()
			go func() { asked <- takeover.Renew(t.Context(), dir) }()
			late := <-clock.begun
			end(late, program, r)
			if err := <-asked; (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("who asked hears %v, want %q", err, want)
			}
			late() // too late by now
			<-clock.over
			if lines := strings.Count(log.String(), failed); lines > 1 || (lines == 1) != (want != "") {
				t.Errorf("the log:\n%s", &log)
			}
			cancel()
			<-ended
			must.Do(t, l.Close())
		})
	}
}
