package daemon

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/rest"
)

// liveTimeout is how long the socket's loop may take for a round.
const liveTimeout = 2 * time.Second

// isLive returns nil if the socket's loop goes round.
func (d *Daemon) isLive(ctx context.Context) error {
	ctx, cancel := clockguard.WithTimeout(ctx, d.clock, liveTimeout)
	defer cancel()
	if d.server.Live(ctx) != nil {
		return fmt.Errorf("the socket's loop has not gone round for %v", liveTimeout)
	}
	return nil
}

// readiness tells whether an ID can be had now, and what keeps it from being so.
func (d *Daemon) readiness() rest.Readiness {
	is := rest.Readiness{State: stateStarting}
	if d.ready.Load() {
		is.State = d.figures().State
		is.Ready = serves(is.State)
	}
	var known *condition.Condition
	if errors.As(d.lane.Condition(), &known) {
		is.Conditions = append(is.Conditions, rest.Condition{Code: known.Code, Detail: known.Error(), Do: known.Do()})
	}
	return is
}
