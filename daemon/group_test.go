package daemon

import (
	"math"
	"strings"
	"testing"
)

func TestGroupIDs(t *testing.T) {
	for group, want := range map[string]int{"": -1, "0": 0, "1000": 1000, "4294967294": math.MaxUint32 - 1} {
		if got, err := groupID(group); err != nil || got != want {
			t.Errorf("group %q is %d, %v; want %d", group, got, err, want)
		}
	}
	// The system keeps 32 bits: of a larger one it would take the rest, and of the largest it would
	// change nothing.
	for _, group := range []string{"4294967295", "4294967296", "9223372036854775807", "-1", "there is no such group"} {
		if got, err := groupID(group); err == nil || !strings.Contains(err.Error(), "--socket-group") {
			t.Errorf("group %q is %d, %v; want an error that names the flag", group, got, err)
		}
	}
}
