package main

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/bench/report"
	"github.com/flakeward/flakeward/bench/server"
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

// The daemon's memory is that of several starts, each of which counts.
func TestMemoryFigure(t *testing.T) {
	f := memoryKind{what: "w", limit: 20}.figure([]server.Memory{{Peak: 10, Resident: 9}, {Peak: 30, Resident: 8}, {Peak: 20, Resident: 7}})
	if len(f.Ours) != 3 || f.Verdict() != report.Met || !strings.Contains(f.Note, "8 B") {
		t.Errorf("%+v: %s", f, f.Verdict())
	}
	if f.Ours[2] = 21; f.Verdict() != report.NotMet {
		t.Errorf("%+v: %s", f, f.Verdict())
	}
}
