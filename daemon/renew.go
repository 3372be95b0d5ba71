package daemon

import (
	"context"
	"errors"
)

var errEnded = errors.New("the program that was started has ended: the log has its reason")

// renew has the program started anew whenever that is asked for, to take over from this process. It
// returns when ctx ends, as after a takeover.
func (d *Daemon) renew(ctx context.Context) {
	for {
		select {
		case <-d.config.Renew:
		case <-ctx.Done():
			return
		}
		d.log.Info("starting the program anew, to take over from this process")
		service := d.config.Service
		if !d.ready.Load() {
			service = nil // the end of a reload would be taken for being ready
		}
		service.Reloading()
		ended, err := d.config.Successor()
		if err == nil {
			select {
			case <-ended:
				err = errEnded
			case <-ctx.Done():
				return
			}
		}
		d.log.Error("nobody has taken over; going on", "reason", err)
		service.Ready()
	}
}
