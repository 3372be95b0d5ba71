package cli

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/coord"
)

func TestNewUUID(t *testing.T) {
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
		{name: "told so", args: []string{"--yes"}, asked: true},
		{name: "asked", stdin: "y\n", terminal: true, asked: true},
		{name: "declined", stdin: "n\n", terminal: true, err: "nothing was done", code: ExitFailed},
		{name: "nobody to ask", stdin: "y\n", err: "cluster new-uuid asks before it acts", code: ExitUsage},
		{name: "unknown outcome", args: []string{"--yes"}, fail: failing("new uuid", errors.New("cut")), asked: true,
			err: "whether the cluster has another UUID is not known", code: ExitFailed},
		{name: "another cluster", args: []string{"--yes"}, fail: failing("new uuid", &coord.ClusterError{Ours: "a", Cluster: "b"}), asked: true,
			err: "the coordinator was wiped", code: ExitFailed},
		{name: "an argument", args: []string{"--yes", "now"}, err: "takes no arguments", code: ExitUsage},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := someCluster()
			if c.fail != nil {
				c.fail(s)
			}
			out, _, err := ask{standIn: s, stdin: c.stdin, terminal: c.terminal}.run(t, append([]string{"cluster", "new-uuid"}, c.args...)...)
			checkError(t, err, c.err, c.code)
			if got := slices.Contains(s.calls, "new uuid"); got != c.asked {
				t.Errorf("asked for a UUID: %v, want %v", got, c.asked)
			}
			if done := strings.Contains(out, "the cluster is now "+newUUID+", and was "+clusterUUID); done != (c.err == "") {
				t.Errorf("printed\n%s", out)
			}
		})
	}
}

func TestCluster(t *testing.T) {
	out, _, err := ask{standIn: someCluster()}.run(t, "cluster")
	checkError(t, err, "", 0)
	if !strings.Contains(out, "cluster  "+clusterUUID) || !strings.Contains(out, fullLayout) {
		t.Errorf("printed\n%s", out)
	}
}
