package need_test

import (
	"errors"
	"testing"

	"github.com/flakeward/flakeward/internal/need"
)

// asked is a test that notes how it ends.
type asked struct {
	testing.TB
	failed, skipped []any
}

func (a *asked) Helper()           {}
func (a *asked) Fatal(args ...any) { a.failed = args }
func (a *asked) Skip(args ...any)  { a.skipped = args }

func TestWhatIsMissing(t *testing.T) {
	missing := errors.New("no moon: wait for it")
	for _, tt := range []struct {
		name, ci        string
		missing         error
		failed, skipped bool
	}{
		{"nothing is", "true", nil, false, false},
		{"on a laptop", "", missing, false, true},
		{"in CI", "true", missing, true, false},
	} {
		t.Setenv("CI", tt.ci)
		a := &asked{TB: t}
		need.That(a, tt.missing)
		if (len(a.failed) > 0) != tt.failed || (len(a.skipped) > 0) != tt.skipped {
			t.Errorf("%s: failed with %v, skipped with %v", tt.name, a.failed, a.skipped)
		}
	}
}
