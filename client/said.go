package client

import (
	"regexp"
	"strings"
	"time"

	"github.com/flakeward/flakeward/internal/wire"
)

// refused is the error for a refusal of the daemon.
func refused(r wire.Refused) error {
	code, text, _ := strings.Cut(string(r), " ")
	if code == "UNAVAILABLE" {
		reason, after, another := unavailable(text)
		return &UnavailableError{Reason: reason, After: after, Another: another}
	}
	return &RefusedError{Code: code, Text: text}
}

var gaveUp = regexp.MustCompile(`^(.*?)(?:; gave up after ([0-9][^ ,;]*))?(?:, another ([0-9][^ ,;]*) would have been needed)?; try again later$`)

// unavailable takes the text of an UNAVAILABLE refusal apart: why there are no IDs, after how long
// the daemon gave up, and how much longer it would have taken. A time that the text does not tell
// is 0.
func unavailable(text string) (reason string, after, another time.Duration) {
	found := gaveUp.FindStringSubmatch(text)
	if found == nil {
		return text, 0, 0
	}
	after, _ = time.ParseDuration(found[2])
	another, _ = time.ParseDuration(found[3])
	return found[1], after, another
}
