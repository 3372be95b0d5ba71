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

// health is what probes are answered from.
type health struct{ d *Daemon }

// liveTimeout is how long the socket's loop may take for a round.
const liveTimeout = 2 * time.Second

// live returns nil if the socket's loop goes round.
func (h health) live(ctx context.Context) error {
	ctx, cancel := clockguard.WithTimeout(ctx, h.d.clock, liveTimeout)
	defer cancel()
	if h.d.server.Live(ctx) != nil {
		return fmt.Errorf("the socket's loop has not gone round for %v", liveTimeout)
	}
	return nil
}

// ready tells whether an ID can be had now, and what keeps it from being so.
func (h health) ready() rest.Readiness {
	is := rest.Readiness{State: stateStarting}
	if h.d.ready.Load() {
		is.State = h.d.figures().State
		is.Ready = serves(is.State)
	}
	var known *condition.Condition
	if errors.As(h.d.lane.Condition(), &known) {
		is.Conditions = append(is.Conditions, rest.Condition{Code: known.Code, Detail: known.Error(), Do: known.Do()})
	}
	return is
}
