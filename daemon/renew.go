package daemon

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/takeover"
)

// renewTimeout bounds how long a program that was started may take until it has taken over. It gives up
// earlier by itself, unless it is stopped.
const renewTimeout = 90 * time.Second

var (
	errRenewing  = errors.New("a program that was started before has neither taken over nor ended yet")
	errEnded     = errors.New("the program that was started has ended, and has not taken over: the log has its reason")
	errLate      = errors.New("the program that was started has not taken over in time")
	errNoProgram = errors.New("this daemon cannot start another")
	errEnding    = errors.New("the daemon ends")
)

// Renew asks the daemon that runs with c to start its program anew, and returns once that has taken
// over. The error says why it has not.
func Renew(ctx context.Context, c Config) error { return takeover.Renew(ctx, c.StateDir) }

// renewal has the program started anew, to take over from this process, for who asks for that.
type renewal struct {
	start func() (ended <-chan struct{}, err error)
	clock clockguard.Clock
	log   hclog.Logger
	mu    sync.Mutex
	asker *takeover.Asker // nil: nobody waits
}

// ask starts the program. The asker learns how that ends.
func (r *renewal) ask(ctx context.Context, asker *takeover.Asker) {
	r.mu.Lock()
	busy := r.asker != nil
	if !busy {
		r.asker = asker
	}
	r.mu.Unlock()
	if busy {
		asker.Answer(ctx, errRenewing)
		return
	}
	if r.start == nil {
		r.answer(ctx, asker, errNoProgram)
		return
	}
	r.log.Info("starting the program anew, to take over from this process")
	ended, err := r.start()
	if err != nil {
		r.answer(ctx, asker, err)
		return
	}
	go func() {
		limit, cancel := clockguard.WithTimeout(ctx, r.clock, renewTimeout)
		defer cancel()
		select {
		case <-ended:
			err = errEnded
		case <-limit.Done():
			err = errLate
		}
		r.answer(ctx, asker, err)
	}()
}

// answer answers the asker, unless that was done: nil says that another process has taken over.
func (r *renewal) answer(ctx context.Context, asker *takeover.Asker, err error) {
	r.mu.Lock()
	waits := asker != nil && r.asker == asker
	if waits {
		r.asker = nil
	}
	r.mu.Unlock()
	if !waits {
		return
	}
	if err != nil {
		r.log.Error("nobody has taken over; going on", "reason", err)
	}
	asker.Answer(ctx, err)
}

// end answers who waits, if somebody does.
func (r *renewal) end(ctx context.Context, err error) {
	r.mu.Lock()
	asker := r.asker
	r.mu.Unlock()
	r.answer(ctx, asker, err)
}
