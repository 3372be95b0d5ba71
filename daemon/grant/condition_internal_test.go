package grant

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
)

type aheadBy time.Duration

func (a aheadBy) Error() string       { return "ahead" }
func (a aheadBy) Lead() time.Duration { return time.Duration(a) }

// A failure says what its last error says, however often it was asked before.
func TestAFailureIsThatOfItsLastError(t *testing.T) {
	var f failure
	for i, tt := range []struct {
		err   error
		code  condition.Code
		since int64 // by the wall clock
	}{
		{errors.New("no answer"), condition.CoordinatorGone, 1000},
		{fmt.Errorf("refused: %w", aheadBy(300)), condition.ClockNotReady, 1000 + 1 - 300 - 10},
		{fmt.Errorf("refused: %w", aheadBy(200)), condition.ClockNotReady, 1000 + 2 - 200 - 20},
		{coord.ErrLost, condition.ClaimLost, 1000},
	} {
		f.set(clockguard.Reading{Wall: 1000 + int64(i), Mono: clockguard.Mono(10 * i)}, tt.err)
		for range 2 {
			c := f.get()
			if c.Code != tt.code || c.Since.UnixNano() != tt.since || c.Err != tt.err {
				t.Errorf("after %v: %+v, want %v since %d", tt.err, c, tt.code, tt.since)
			}
			c.Code, c.Err = condition.JournalFailing, nil // whoever has asked may change it
		}
	}
	f.set(clockguard.Reading{}, nil)
	if c := f.get(); c != nil {
		t.Errorf("all is well: %+v", c)
	}
}

// A daemon that ran without --coord does not read as one whose coordinator was replaced.
func TestAForeignJournalOfADirectoryIsSaidAsThat(t *testing.T) {
	for joined, want := range map[string]string{
		"dir:":           "joined at dir:: this daemon has run without that --coord, as a cluster of its own.",
		"etcd://other/x": "joined at etcd://other/x: either the coordinator was wiped or replaced, or it is not the one that was meant.",
		"etcd://here/x":  "joined there: either the coordinator was wiped or replaced, or it is not the one that was meant.",
	} {
		if text := (&ForeignError{Joined: joined, Coord: "etcd://here/x"}).Error(); !strings.Contains(text, want) {
			t.Errorf("%q does not say %q", text, want)
		}
	}
}
