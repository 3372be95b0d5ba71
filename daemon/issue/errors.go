package issue

import (
	"errors"
	"fmt"
	"time"
)

var (
	errNoLane  = errors.New("no worker ID is held yet")
	errCeiling = errors.New("the grant is used up")
	errBusy    = errors.New("more IDs are asked for than the layout has")
	errClock   = errors.New("the clock is behind the last ID issued")
	errFloor   = errors.New("the worker ID may have been issued from up to a time that the clock has not reached")
	errOrder   = errors.New("the connection's last ID is of this tick, and another worker ID serves it now")
	errTenant  = errors.New("the layout has no such tenant")
)

// UnavailableError is the answer to a request that no ID could be issued for.
type UnavailableError struct {
	Reason error         // what keeps IDs from being issued
	For    time.Duration // how long it would still have taken; 0: not known
	After  time.Duration // how long the request has waited; 0: not at all
}

func (e *UnavailableError) Error() string {
	text := e.Reason.Error()
	if e.After > 0 {
		text += fmt.Sprintf("; gave up after %v", e.After)
	}
	if e.For > 0 {
		text += fmt.Sprintf(", another %v would have been needed", e.For.Round(time.Millisecond))
	}
	return text + "; try again later"
}

func (e *UnavailableError) Unwrap() error { return e.Reason }
