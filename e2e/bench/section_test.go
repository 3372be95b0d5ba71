package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

// What is compared or judged needs its rounds; what is only shown, quoted, computed or not run does
// not.
func TestTooFew(t *testing.T) {
	six, seven := make([]float64, fullRounds-1), make([]float64, fullRounds)
	for name, c := range map[string]struct {
		figure report.Figure
		few    bool
	}{
		"judged":        {report.Figure{Ours: six}.AtMost(1), true},
		"compared":      {report.Figure{Ours: six, Peer: "p", Theirs: six}, true},
		"enough":        {report.Figure{Ours: seven, Peer: "p", Theirs: seven}.RatioAtLeast(1), false},
		"shown":         {report.Figure{Ours: six}, false},
		"quoted":        {report.Figure{Peer: "p", Theirs: six}, false},
		"computed":      {report.Figure{Ours: six[:1], Derived: true}.AtLeast(1), false},
		"not run":       {report.Figure{Absent: "x"}.AtLeast(1), false},
		"judged, never": {report.Figure{}.AtLeast(1), true},
	} {
		c.figure.What = name
		err := tooFew([]report.Figure{{Ours: seven}, c.figure})
		if (err != nil) != c.few || err != nil && !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, c := range []struct {
		list string
		want []string
	}{
		{"", names(sections)},
		{"idle", []string{"idle"}},
		{"grpc,start", []string{"start", "grpc"}}, // in the table's order
	} {
		got, err := choose(sections, c.list)
		if err != nil || !slices.Equal(names(got), c.want) {
			t.Errorf("-only %q chooses %v, %v; want %v", c.list, names(got), err, c.want)
		}
	}
	for _, list := range []string{"speed", "idle,", "idle speed"} {
		if got, err := choose(sections, list); err == nil || !strings.Contains(err.Error(), "socket") {
			t.Errorf("-only %q chooses %v with the error %v, which should name what there is", list, names(got), err)
		}
	}
}

func TestMissingNamesThePackage(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for _, c := range []struct{ program, says string }{
		{redisbench.Server, "apt-get install redis-server"},
		{redisbench.Program, "apt-get install redis-tools"},
		{"go", "apt-get install golang"},
	} {
		if got := (section{needs: []string{c.program}}).missing(); len(got) != 1 || !strings.Contains(got[0], c.says) {
			t.Errorf("%s: says %q, which should say %q", c.program, got, c.says)
		}
	}
	if got := (section{}).missing(); len(got) > 0 {
		t.Errorf("what needs nothing more: %q", got)
	}
}
