package issue

import (
	"errors"

	"github.com/flakeward/flakeward/daemon/condition"
)

// Code returns the code of a refusal, for programs: that of the condition that has stopped issuing,
// or of the reason; empty if there is none.
func Code(err error) string {
	var unavailable *UnavailableError
	var many *TooManyError
	switch {
	case errors.As(err, &unavailable):
		code, _, _ := unavailable.known()
		return string(code)
	case errors.As(err, &many) && many.Rate.limited():
		return string(codes[ErrRate])
	case errors.As(err, &many):
		return string(condition.CountTooLarge)
	}
	return ""
}
