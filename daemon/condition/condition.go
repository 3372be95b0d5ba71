package condition

import (
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/internal/logging"
)

// ErrLate is of a condition that no failure is known to be the cause of: an answer is waited for.
var ErrLate = errors.New("an answer is waited for")

// Condition is what keeps a lane from issuing, or will. Times are known time.
type Condition struct {
	Code    Code
	Cause   Code      // of a grant or a mark that has ended: what kept it from being extended; empty: not known
	Stopped bool      // no ID can be issued
	Since   time.Time // when no ID could be had any more; if the lane still issues, when the cause began
	Last    time.Time // the tick of the last ID; zero: none was issued
	Ends    time.Time // when issuing will stop; zero: it has stopped
	Err     error     // why
}

// Error implements error.
func (c *Condition) Error() string {
	since := "since " + c.Since.UTC().Format(logging.TimeFormat)
	switch {
	case !c.Stopped:
		return fmt.Sprintf("%s: %v", since, c.Err)
	case c.Last.IsZero():
		return fmt.Sprintf("%s no ID can be had: %v", since, c.Err)
	default:
		return fmt.Sprintf("%s no ID can be had, the last is of %s: %v", since, c.Last.UTC().Format(logging.TimeFormat), c.Err)
	}
}

// Do returns what to do about it, which is what to do about its cause, where that is not the plain
// one.
func (c *Condition) Do() string {
	switch c.Cause {
	case "", Starting, CoordinatorGone:
		return c.Code.Do()
	default:
		return c.Cause.Do()
	}
}

// Unwrap returns why.
func (c *Condition) Unwrap() error { return c.Err }

// CodeOf returns the code of an error that is a Condition; empty if it is none.
func CodeOf(err error) Code {
	var c *Condition
	if errors.As(err, &c) {
		return c.Code
	}
	return ""
}
