package daemon

import (
	"context"
	"errors"
)

var errEnded = errors.New("the program that was started has ended: the log has its reason")

// renew has the program started anew whenever that is asked for, to take over from this process. It
// returns when ctx ends. Unless another process has taken over by then, the program that was
// started is told to end as well: it would find nobody to take over from, and serve after the stop.
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
		started, err := d.config.Successor()
		if err == nil {
			select {
			case <-started.Ended:
				err = errEnded
			case <-ctx.Done():
				if !d.handedOver {
					started.Stop()
				}
				return
			}
		}
		d.log.Error("nobody has taken over; going on", "reason", err)
		service.Ready()
	}
}
