package issue

import (
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/internal/logging"
)

// Why a request waits, or is refused: errors.Is finds them in an UnavailableError.
var (
	ErrNoLane    = errors.New("no worker ID is held yet")
	ErrCeiling   = errors.New("the grant is used up")
	ErrExhausted = errors.New("more IDs are asked for than the layout has")
	ErrClock     = errors.New("the clock is behind the last ID issued")
	ErrFloor     = errors.New("the worker ID may have been issued from up to a time that the clock has not reached")
	ErrOrder     = errors.New("the connection's last ID is of this tick, and another worker ID serves it now")
	ErrRate      = errors.New("more IDs are asked for than the user's rate allows")
	ErrTenant    = errors.New("the layout has no such tenant")
)

// TooManyError is the answer to a request for more IDs than can be had within the time that a
// request may wait. Nothing was issued for it, and it did not wait.
type TooManyError struct {
	Count   int           // what was asked for
	Within  time.Duration // the longest wait
	Largest int           // what can be had now; 0: none
	After   time.Duration // when more can be had; 0: a count as large can never be had
	Rate    Rate          // the user's, if it is what limits
}

// Error is stable: clients read the numbers in it.
func (e *TooManyError) Error() string {
	text := fmt.Sprintf("%d IDs cannot be had within %v", e.Count, e.Within)
	if e.Rate.limited() {
		text += fmt.Sprintf(" at the user's rate of %d/s", e.Rate.PerSecond)
	}
	text += fmt.Sprintf(": at most %d can", e.Largest)
	if e.After == 0 {
		return text + fmt.Sprintf("; code=%s: ask for no more at a time", Code(e))
	}
	return text + fmt.Sprintf(" now; code=%s: ask for no more, or try again in %v", Code(e), e.After)
}

// UnavailableError is the answer to a request that no ID could be issued for.
type UnavailableError struct {
	Reason    error         // what keeps IDs from being issued
	Condition error         // what the lane's owner knows of its cause; nil: nothing
	For       time.Duration // how long it would still have taken; 0: not known
	Last      time.Time     // the tick of the lane's last ID, if the reason is ErrClock
	After     time.Duration // how long the request has waited; 0: not at all
}

// Error says why, with the code and what to do about it. A cause that is known and has stopped
// issuing takes the reason's place.
func (e *UnavailableError) Error() string {
	text := e.Reason.Error()
	code, do, stopped := e.known()
	if stopped != nil {
		text = stopped.Error()
	} else {
		if !e.Last.IsZero() {
			text += ", which is of " + e.Last.UTC().Format(logging.TimeFormat)
		}
		if e.Condition != nil {
			text += " (" + e.Condition.Error() + ")"
		}
	}
	if code != "" {
		text += fmt.Sprintf("; code=%s: %s", code, do)
	}
	if e.After > 0 {
		text += fmt.Sprintf("; gave up after %v", e.After)
	}
	if e.For > 0 {
		text += fmt.Sprintf(", another %v would have been needed", e.For.Round(time.Millisecond))
	}
	return text + "; try again later"
}

// known returns the code and what to do: those of the reason, or, where its cause is known and has
// stopped issuing, of that.
func (e *UnavailableError) known() (code condition.Code, do string, stopped *condition.Condition) {
	if errors.As(e.Condition, &stopped) && stopped.Stopped {
		return stopped.Code, stopped.Do(), stopped
	}
	code = codeOf(e.Reason)
	return code, code.Do(), nil
}

// codes are those of the reasons.
var codes = map[error]condition.Code{
	ErrNoLane:    condition.NoWorker,
	ErrCeiling:   condition.GrantEnded,
	ErrExhausted: condition.TickExhausted,
	ErrClock:     condition.ClockBehind,
	ErrFloor:     condition.FloorAhead,
	ErrOrder:     condition.Order,
	ErrRate:      condition.UserRate,
}

// outside is the layout's reason: it has no tick for the time.
type outside struct{ error }

// codeOf returns the code of a reason, empty if it has none: then the mistake is the request's.
func codeOf(reason error) condition.Code {
	if _, ok := reason.(outside); ok {
		return condition.OutsideLayout
	}
	return codes[reason]
}

// Unwrap returns the reason and the condition.
func (e *UnavailableError) Unwrap() []error {
	if e.Condition == nil {
		return []error{e.Reason}
	}
	return []error{e.Reason, e.Condition}
}
