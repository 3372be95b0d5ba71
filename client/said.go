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
		return unavailable(text)
	}
	return &RefusedError{Code: code, Text: text}
}

var gaveUp = regexp.MustCompile(`^(.*?)(?:; gave up after ([0-9][^ ,;]*))?(?:, another ([0-9][^ ,;]*) would have been needed)?; try again later$`)

// unavailable takes the text of an UNAVAILABLE refusal apart. A time that the text does not tell is
// 0.
func unavailable(text string) *UnavailableError {
	found := gaveUp.FindStringSubmatch(text)
	if found == nil {
		return &UnavailableError{Reason: text}
	}
	after, _ := time.ParseDuration(found[2])
	another, _ := time.ParseDuration(found[3])
	return &UnavailableError{Reason: found[1], After: after, Another: another}
}
