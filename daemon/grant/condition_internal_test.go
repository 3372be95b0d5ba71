package grant

import (
	"errors"
	"testing"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
)

// A failure says what its last error says, however often it was asked before.
func TestAFailureIsThatOfItsLastError(t *testing.T) {
	var f failure
	for i, tt := range []struct {
		err  error
		code condition.Code
	}{
		{errors.New("no answer"), condition.CoordinatorGone},
		{coord.ErrLost, condition.ClaimLost},
	} {
		f.set(clockguard.Reading{Wall: 1000 + int64(i), Mono: clockguard.Mono(10 * i)}, tt.err)
		for range 2 {
			c := f.get()
			if c.Code != tt.code || c.Since.UnixNano() != 1000 || c.Err != tt.err {
				t.Errorf("after %v: %+v, want %v since the first", tt.err, c, tt.code)
			}
			c.Code, c.Err = condition.CoordinatorGone, nil // whoever has asked may change it
		}
	}
	f.set(clockguard.Reading{}, nil)
	if c := f.get(); c != nil {
		t.Errorf("all is well: %+v", c)
	}
}
