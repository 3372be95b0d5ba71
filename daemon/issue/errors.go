package issue

import (
	"errors"
	"fmt"
	"time"
)

// Why a request waits, or is refused: errors.Is finds them in an UnavailableError.
var (
	ErrNoLane    = errors.New("no worker ID is held yet")
	ErrCeiling   = errors.New("the grant is used up")
	ErrExhausted = errors.New("more IDs are asked for than the layout has")
	ErrClock     = errors.New("the clock is behind the last ID issued")
	ErrFloor     = errors.New("the worker ID may have been issued from up to a time that the clock has not reached")
	ErrOrder     = errors.New("the connection's last ID is of this tick, and another worker ID serves it now")
	ErrTenant    = errors.New("the layout has no such tenant")
)

// UnavailableError is the answer to a request that no ID could be issued for.
type UnavailableError struct {
	Reason    error         // what keeps IDs from being issued
	Condition error         // what the lane's owner knows of its cause; nil: nothing
	For       time.Duration // how long it would still have taken; 0: not known
	After     time.Duration // how long the request has waited; 0: not at all
}

// Error says the cause, if it is known, in place of the reason.
func (e *UnavailableError) Error() string {
	text := e.Reason.Error()
	if e.Condition != nil {
		text = e.Condition.Error()
	}
	if e.After > 0 {
		text += fmt.Sprintf("; gave up after %v", e.After)
	}
	if e.For > 0 {
		text += fmt.Sprintf(", another %v would have been needed", e.For.Round(time.Millisecond))
	}
	return text + "; try again later"
}

// Unwrap returns the reason and the condition.
func (e *UnavailableError) Unwrap() []error {
	if e.Condition == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Condition}
}
