package daemon

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
	"github.com/flakeward/flakeward/coord/secure"
	"github.com/flakeward/flakeward/daemon/tcp"
)

// reload opens the log again, and reads what the coordinator is reached with again, when it is asked
// to.
type reload struct {
	config  *Config
	ready   *atomic.Bool
	clock   clockguard.Clock // known time
	current *secure.Current  // what was read
	tcp     *tcp.Server
	expired func() // is called when a session of the coordinator has expired
}

// access is what the coordinator is reached with, except for who asks.
func (r reload) access() (connect.Config, error) {
	access, err := r.config.Access()
	access.Clock, access.Log, access.Current = r.clock, r.config.Log.Named("coord"), r.current
	return access, err
}

// dial opens the coordinator.
func (r reload) dial(ctx context.Context, who coord.Identity) (coord.Coordinator, error) {
	access, err := r.access()
	if err != nil {
		return nil, err
	}
	access.Identity, access.Expired = who, r.expired
	return connect.Open(ctx, access)
}

// run does what is asked until ctx ends.
func (r reload) run(ctx context.Context) {
	for {
		select {
		case <-r.config.Reload:
			// Before the daemon is ready, an end of the reload would be taken for that.
			if r.ready.Load() {
				r.config.Service.Reloading()
			}
			r.again()
			if r.ready.Load() {
				r.config.Service.Ready()
			}
		case <-ctx.Done():
			return
		}
	}
}

func (r reload) again() {
	log := r.config.Log
	if r.config.ReopenLog != nil {
		if err := r.config.ReopenLog(); err != nil {
			log.Error("cannot reopen the log; using the old file", "error", err)
		}
	}
	access, err := r.access()
	if err == nil {
		err = access.Reload()
	}
	err = errors.Join(err, r.tcp.Reload())
	if err != nil {
		log.Error("cannot reload certificates and passwords; using the last ones", "error", err)
		return
	}
	log.Info("reopened the log, and reloaded certificates and passwords")
}
