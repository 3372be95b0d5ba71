package client

import (
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/info"
	"github.com/flakeward/flakeward/internal/wire"
)

// maxCount is how many IDs one request may ask for; 0: INFO does not say, as no flakeward daemon
// does.
func maxCount(said info.Info) int64 {
	text, _ := said.Get(info.MaxCount)
	if n, err := strconv.ParseInt(text, 10, 32); err == nil && n > 0 {
		return n
	}
	return 0
}

// refused is the error for a refusal of the daemon.
func refused(r wire.Refused) error {
	code, text, _ := strings.Cut(string(r), " ")
	if code == "UNAVAILABLE" {
		reason, after, another := unavailable(text)
		return &UnavailableError{Reason: reason, After: after, Another: another}
	}
	return &RefusedError{Code: code, Text: text}
}

// unavailable takes the text of an UNAVAILABLE refusal apart: why there are no IDs, after how long
// the daemon gave up, and how much longer it would have taken. A time that the text does not tell
// is 0.
func unavailable(text string) (reason string, after, another time.Duration) {
	reason, whole := strings.CutSuffix(text, "; try again later")
	if !whole {
		return text, 0, 0
	}
	if rest, ok := strings.CutSuffix(reason, " would have been needed"); ok {
		if i := strings.LastIndex(rest, ", another "); i >= 0 {
			if d, err := time.ParseDuration(rest[i+len(", another "):]); err == nil && d > 0 {
				reason, another = rest[:i], d
			}
		}
	}
	if i := strings.LastIndex(reason, "; gave up after "); i >= 0 {
		if d, err := time.ParseDuration(reason[i+len("; gave up after "):]); err == nil && d > 0 {
			reason, after = reason[:i], d
		}
	}
	return reason, after, another
}
