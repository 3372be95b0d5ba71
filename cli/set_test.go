package cli

import (
	"strings"
	"testing"
	"time"
)

func TestSetWindow(t *testing.T) {
	for _, c := range []struct{ args, called, printed, refused string }{
		{args: "--window 20m", called: "window 1200000", printed: "window   20m0s, before 10m0s"},
		{args: "", refused: "--window"},
		{args: "--window 25h", refused: "up to 24h"},
		{args: "--window 0s", refused: "above 0"},
	} {
		s := someCluster()
		s.inspected.Window = tickAt(10*time.Minute) - tickAt(0)
		out, _, err := ask{standIn: s}.run(t, append([]string{"cluster", "set"}, strings.Fields(c.args)...)...)
		if (err != nil) != (c.refused != "") || err != nil && !strings.Contains(err.Error(), c.refused) || !strings.Contains(out, c.printed) || !strings.Contains(strings.Join(s.calls, "\n"), c.called) {
			t.Errorf("%q: %v, printed %q, called %q", c.args, err, out, s.calls)
		}
	}
}
