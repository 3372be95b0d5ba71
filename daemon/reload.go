package daemon

import (
	"context"
	"errors"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/connect"
)

// reached is what the coordinator is reached with, except for who asks.
func (d *Daemon) reached() (connect.Config, error) {
	access, err := d.config.Access()
	access.Clock, access.Log, access.Current = d.clock, d.log.Named("coord"), &d.current
	return access, err
}

// dial opens the coordinator.
func (d *Daemon) dial(ctx context.Context) (coord.Coordinator, error) {
	access, err := d.reached()
	if err != nil {
		return nil, err
	}
	access.Identity, access.Expired = d.Identity(), d.lane.sessionExpired
	return connect.Open(ctx, access)
}

// reloads opens the log again, and reads what the coordinator is reached with again, whenever it is
// asked to, until ctx ends.
func (d *Daemon) reloads(ctx context.Context) {
	for {
		select {
		case <-d.config.Reload:
			// Before the daemon is ready, an end of the reload would be taken for that.
			if d.ready.Load() {
				d.config.Service.Reloading()
			}
			d.again()
			if d.ready.Load() {
				d.config.Service.Ready()
			}
		case <-ctx.Done():
			return
		}
	}
}

func (d *Daemon) again() {
	if d.config.ReopenLog != nil {
		if err := d.config.ReopenLog(); err != nil {
			d.log.Error("cannot reopen the log; using the old file", "error", err)
		}
	}
	access, err := d.reached()
	if err == nil {
		err = access.Reload()
	}
	err = errors.Join(err, d.tcp.Reload())
	if err != nil {
		d.log.Error("cannot reload certificates and passwords; using the last ones", "error", err)
		return
	}
	d.log.Info("reopened the log, and reloaded certificates and passwords")
}
