package must

import (
	"errors"
	"fmt"
	"io"
	"testing"
)

// fake notes what it ended with.
type fake struct{ said []any }

func (*fake) Helper()          {}
func (f *fake) Fatal(a ...any) { f.said = append(f.said, a...) }

func TestAStepThatFailsEndsTheTest(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		do   func(T)
		want string
	}{
		{func(t T) { Do(t) }, ""},
		{func(t T) { Do(t, nil, nil) }, ""},
		{func(t T) { Do(t, nil, broken) }, "broken"},
		{func(t T) { Get(1, nil)(t) }, ""},
		{func(t T) { Get(0, broken)(t) }, "broken"},
		{func(t T) { Fail(t, errors.Join(broken), broken) }, ""},
		{func(t T) { Fail(t, broken, io.EOF) }, "ended with broken, want EOF"},
		{func(t T) { Fail(t, nil, broken) }, "ended with <nil>, want broken"},
	} {
		f := &fake{}
		if tt.do(f); fmt.Sprint(f.said...) != tt.want {
			t.Errorf("ended with %v, want %q", f.said, tt.want)
		}
	}
	if got := Get(5, nil)(t); got != 5 {
		t.Errorf("the value is %d", got)
	}
}
