package grant

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/clockguard/clocktest"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// A failure says what its last error says, however often it was asked before.
func TestAFailureIsThatOfItsLastError(t *testing.T) {
	began := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	clock := clocktest.NewManual(began)
	k := New(Config{Layout: must.Get(generator.ParseLayout("flakeward"))(t), Clock: clock}, nil)
	for _, tt := range []struct {
		err  error
		code condition.Code
	}{
		{errors.New("no answer"), condition.CoordinatorGone},
		{coord.ErrLost, condition.ClaimLost},
	} {
		clock.Advance(time.Second)
		k.NotJoined(tt.err)
		for range 2 {
			var c *condition.Condition
			if !errors.As(k.Condition(), &c) || c.Code != tt.code || !c.Since.Equal(began) || c.Err != tt.err {
				t.Fatalf("after %v: %+v, want %v since the first", tt.err, c, tt.code)
			}
			c.Code, c.Err = condition.CoordinatorGone, nil // whoever has asked may change it
		}
	}
}
