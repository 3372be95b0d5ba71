package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/internal/must"
)

func TestSet(t *testing.T) {
	for _, c := range []struct {
		args, called, printed, refused string
		unsynced                       bool
	}{
		{args: "--window 20m", called: "window 1200000", printed: "window   20m0s, before 10m0s"},
		{args: "--trust-clock", called: "trust 43200000", printed: "time     2026-01-01T12:00:00.000Z"},
		{args: "--trust-clock --window 20m", called: "window 1200000\ntrust 43200000", printed: "window   20m0s, before 10m0s\ntime     2026-01-01T12:00:00.000Z"},
		{args: "--trust-clock", unsynced: true, refused: "--yes"},
		{args: "--trust-clock --yes", unsynced: true, called: "trust 43200000"},
		{args: "", refused: "--window or --trust-clock"},
		{args: "--window 25h", refused: "within 2s and 24h"},
		{args: "--window 1999ms", refused: "within 2s and 24h"},
	} {
		s := someCluster()
		s.inspected.Window = tickAt(10*time.Minute) - tickAt(0)
		out, _, err := ask{standIn: s, unsynced: c.unsynced}.run(t, append([]string{"cluster", "set"}, strings.Fields(c.args)...)...)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) || !strings.Contains(out, c.printed) || !strings.Contains(strings.Join(s.calls, "\n"), c.called) {
			t.Errorf("%q: %v, printed %q, called %q", c.args, err, out, s.calls)
		}
	}
}

// A cluster is changed by what is said on the command line, and not by a daemon's settings.
func TestSetTakesNothingFromTheSettings(t *testing.T) {
	file := filepath.Join(t.TempDir(), "flakeward.yaml")
	must.Do(t, os.WriteFile(file, []byte("window: 7m\ntrust-clock: true\n"), 0o600))
	t.Setenv("FLAKEWARD_WINDOW", "8m")
	t.Setenv("FLAKEWARD_TRUST_CLOCK", "true")
	for args, want := range map[string]string{"--window 20m": "window 1200000", "--trust-clock": "trust 43200000"} {
		s := someCluster()
		_, _, err := ask{standIn: s}.run(t, append([]string{"cluster", "set", "--config", file}, strings.Fields(args)...)...)
		if err != nil || !slices.Equal(s.calls, []string{"operate", "inspect", want}) {
			t.Errorf("%q: %v, called %q, want %q", args, err, s.calls, want)
		}
	}
}
