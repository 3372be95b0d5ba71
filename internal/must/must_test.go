package must

import (
	"errors"
	"testing"
)

// fake notes what it ended with.
type fake struct{ said []any }

func (*fake) Helper()          {}
func (f *fake) Fatal(a ...any) { f.said = append(f.said, a...) }

func TestAStepThatFailsEndsTheTest(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name string
		do   func(T)
		ends bool
	}{
		{"no step", func(t T) { Do(t) }, false},
		{"steps that succeed", func(t T) { Do(t, nil, nil) }, false},
		{"one of two fails", func(t T) { Do(t, nil, broken) }, true},
		{"a value", func(t T) { Get(1, nil)(t) }, false},
		{"no value", func(t T) { Get(0, broken)(t) }, true},
	} {
		f := &fake{}
		tt.do(f)
		if tt.ends != (len(f.said) == 1) {
			t.Errorf("%s: ended with %v", tt.name, f.said)
		}
		for _, said := range f.said {
			if err, ok := said.(error); !ok || !errors.Is(err, broken) {
				t.Errorf("%s: ended with %v", tt.name, said)
			}
		}
	}
	if got := Get(5, nil)(t); got != 5 {
		t.Errorf("the value is %d", got)
	}
}
