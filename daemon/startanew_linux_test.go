//go:build amd64 || arm64

package daemon_test

import (
	"os"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// A clone that cannot start anew ends with the reason.
func TestACloneThatCannotStartAnewEndsTheDaemon(t *testing.T) {
	t.Parallel()
	machine := newHypervisor(t, 0)
	c := config(dir(t))
	c.VMClock = machine.path
	r := start(t, c)
	r.next()
	must.Do(t, os.Chmod(r.config.StateDir, 0o777))
	machine.clone(1)
	err := r.End()
	for _, text := range []string{"cloned or put back", "start anew", "chmod it to 0700"} {
		if err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("the daemon ended with %v, which does not say %q", err, text)
		}
	}
	if _, err := r.do("NEXT"); err == nil {
		t.Error("an ID of a daemon that has ended")
	}
}
