package issue_test

import (
	"testing"

	"github.com/flakeward/flakeward/daemon/issue"
)

// TestEachWaitHasANameOfItsOwn: the metrics show them.
func TestEachWaitHasANameOfItsOwn(t *testing.T) {
	seen := map[string]bool{"": true}
	for _, w := range issue.WaitsFor() {
		if seen[w.String()] {
			t.Errorf("%d is called %q", w, w)
		}
		seen[w.String()] = true
	}
}
