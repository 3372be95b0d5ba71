package cli

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/daemon"
	"github.com/flakeward/flakeward/internal/must"
)

// A variable that is nearly one of a setting is refused, whatever the command; one that is far from
// all of them is said in the daemon's log.
func TestVariablesThatAreNoSettings(t *testing.T) {
	const near = "there is no variable FLAKEWARD_SOKCET: did you mean FLAKEWARD_SOCKET?"
	t.Run("near", func(t *testing.T) {
		t.Setenv("FLAKEWARD_SOKCET", "/x")
		for _, args := range []string{"next", "status", "cluster marks", "daemon", "claims clear x"} {
			_, _, err := command(t, "", strings.Fields(args)...)
			checkError(t, err, near, ExitUsage)
		}
		if _, _, err := command(t, "", "version"); err != nil {
			t.Errorf("version has no settings, and ends with %v", err)
		}
	})
	t.Run("far", func(t *testing.T) {
		for _, name := range []string{"FLAKEWARD_SERVICE_HOST", "FLAKEWARD_PORT_6379_TCP", "FLAKEWARD_DRILL_CLOCK"} {
			t.Setenv(name, "1")
		}
		var log bytes.Buffer
		must.Do(t, Run(t.Context(), []string{"flakeward", "daemon"}, strings.NewReader(""), &bytes.Buffer{}, &log,
			func(context.Context, daemon.Config) error { return nil }))
		for name, want := range map[string]bool{"FLAKEWARD_SERVICE_HOST": true, "FLAKEWARD_PORT_6379_TCP": true, "FLAKEWARD_DRILL_CLOCK": true} {
			if strings.Contains(log.String(), "variable="+name+"\n") != want {
				t.Errorf("%s is named in the log: want %t\n%s", name, want, &log)
			}
		}
	})
	names, err := strangeVariables([]string{"FLAKEWARD_CONFIG=x", "FLAKEWARD_MAX_COUNT=1", "PATH=/bin", "FLAKEWARD_IMAGE=x"})
	if err != nil || !slices.Equal(names, []string{"FLAKEWARD_IMAGE"}) {
		t.Errorf("strange are %q, %v", names, err)
	}
}
