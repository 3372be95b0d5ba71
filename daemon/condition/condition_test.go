package condition_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon/condition"
)

func TestAGrantThatEndedForAnotherReasonThanAnOutageSaysWhatToDoAboutThat(t *testing.T) {
	for cause, want := range map[condition.Code]condition.Code{
		condition.CoordinatorGone: condition.GrantEnded, "": condition.GrantEnded, condition.WorkersTaken: condition.WorkersTaken,
	} {
		if c := (&condition.Condition{Code: condition.GrantEnded, Cause: cause}); c.Do() != want.Do() {
			t.Errorf("%q: %q", cause, c.Do())
		}
	}
}
