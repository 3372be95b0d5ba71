package condition_test

import (
	"errors"
	"testing"
	"time"

	"github.com/flakeward/flakeward/daemon/condition"
)

func TestOfTwoLanesTheOneThatStoppedLaterSaysSinceWhen(t *testing.T) {
	at := func(s int, stopped bool) error {
		return &condition.Condition{Code: condition.GrantEnded, Stopped: stopped, Since: time.Unix(int64(s), 0), Err: errors.New("x")}
	}
	early, late, issues := at(1, true), at(2, true), at(3, false)
	for _, tt := range []struct{ first, second, want error }{
		{early, late, late}, {late, early, late}, {early, issues, early}, {issues, late, issues}, {nil, late, nil}, {early, nil, early},
	} {
		if got := condition.Later(tt.first, tt.second); got != tt.want {
			t.Errorf("of %v and %v: %v", tt.first, tt.second, got)
		}
	}
}

func TestAGrantThatEndedForAnotherReasonThanAnOutageSaysWhatToDoAboutThat(t *testing.T) {
	for cause, want := range map[condition.Code]condition.Code{
		condition.CoordinatorGone: condition.GrantEnded, "": condition.GrantEnded, condition.WorkersTaken: condition.WorkersTaken,
	} {
		if c := (&condition.Condition{Code: condition.GrantEnded, Cause: cause}); c.Do() != want.Do() {
			t.Errorf("%q: %q", cause, c.Do())
		}
	}
}
