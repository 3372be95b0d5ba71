package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flakeward/flakeward/coord"
)

func TestWiden(t *testing.T) {
	const wide = "widen 0-1023 above 44100000"
	before := fmt.Sprint(int64(tickAt(-time.Second))<<22 | 17<<12 | 5)
	for _, c := range []struct {
		name     string
		args     []string
		fail     func(*standIn)
		stdin    string
		terminal bool
		asked    bool // of the coordinator
		err      string
		code     int
	}{
		{name: "told so", args: []string{"--yes", "--above-id", before, "0-1023"}, asked: true},
		{name: "asked", args: []string{"--above-id", before, "0-1023"}, stdin: "y\n", terminal: true, asked: true},
		{name: "declined", args: []string{"--above-id", before, "0-1023"}, stdin: "n\n", terminal: true, err: "nothing was done", code: ExitFailed},
		{name: "nobody to ask", args: []string{"--above-id", before, "0-1023"}, err: "cluster widen asks before it acts", code: ExitUsage},
		{name: "unknown outcome", args: []string{"--yes", "--above-id", before, "0-1023"}, fail: failing(wide, errors.New("cut")), asked: true,
			err: "whether it was done is not known", code: ExitFailed},
		{name: "too narrow", args: []string{"--yes", "--above-id", before, "0-1023"}, fail: failing(wide, &coord.NarrowError{}), asked: true,
			err: "nothing was changed", code: ExitUsage},
		{name: "another cluster", args: []string{"--yes", "--above-id", before, "0-1023"}, fail: failing(wide, &coord.ClusterError{Ours: "a", Cluster: "b"}), asked: true,
			err: "the coordinator was wiped", code: ExitFailed},
		{name: "no ID", args: []string{"--yes", "0-1023"}, err: "--above-id", code: ExitUsage},
		{name: "an ID of another layout", args: []string{"--yes", "--above-id", "5981966696448054276", "0-1023"}, err: "is it an ID of the layout", code: ExitUsage},
		{name: "no ID at all", args: []string{"--yes", "--above-id", "-7", "0-1023"}, err: "--above-id", code: ExitUsage},
		{name: "no range", args: []string{"--yes", "--above-id", before, "9-3"}, err: "no range of worker IDs", code: ExitUsage},
		{name: "nothing", args: []string{"--yes", "--above-id", before}, err: "takes the worker IDs", code: ExitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := someCluster()
			s.inspected.Range = coord.WorkerRange{First: 512, Count: 512}
			if c.fail != nil {
				c.fail(s)
			}
			out, _, err := ask{standIn: s, stdin: c.stdin, terminal: c.terminal}.run(t, append([]string{"cluster", "widen"}, c.args...)...)
			checkError(t, err, c.err, c.code)
			if got := slices.Contains(s.calls, wide); got != c.asked {
				t.Errorf("asked to widen: %v, want %v; %q", got, c.asked, s.calls)
			}
			if done := strings.Contains(out, "the cluster assigns the worker IDs 0-1023"); done != (c.err == "") || c.asked && !strings.Contains(out, "512-1023 now, 0-1023 then") {
				t.Errorf("printed\n%s", out)
			}
		})
	}
}
