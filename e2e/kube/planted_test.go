//go:build e2e

package kube

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/received"
)

// The judge finds what is planted: an ID that came twice, one that fell, a request that failed
// where none may, and none where it may.
func TestJudgeFindsWhatIsPlanted(t *testing.T) {
	dir := t.TempDir()
	for name, replies := range map[string][]evidence.Reply{
		"one/app": {
			{Connection: 1, Asking: evidence.Single, Asked: 10, Answered: 12, Outcome: evidence.Got, IDs: []evidence.Run{{First: 100, Step: 1, N: 1}}},
			{Connection: 1, Asking: evidence.Single, Asked: 20, Answered: 22, Outcome: evidence.Got, IDs: []evidence.Run{{First: 99, Step: 1, N: 1}}},
			{Connection: 1, Asking: evidence.Single, Asked: 30, Answered: 60, Outcome: evidence.Lost, Text: "planted"},
		},
		"two/app": {
			{Connection: 1, Asking: evidence.InRuns, Asked: 10, Answered: 12, Outcome: evidence.Got, IDs: []evidence.Run{{First: 90, Step: 10, N: 2}}},
			{Connection: 1, Asking: evidence.Single, Asked: 99, Answered: 110, Outcome: evidence.Refused, Text: "planted"},
		},
	} {
		path := filepath.Join(dir, name, "1.replies")
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		log, err := evidence.CreateReplies(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range replies {
			if err := log.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
	}
	j, err := judge(dir, []window{{name: "strict", from: 25, to: 50}, {name: "kill", from: 100, to: 200, mayFail: true}})
	if err != nil {
		t.Fatal(err)
	}
	if d := received.FindDuplicates(j.ids); d.IDs != 4 || d.Repeated != 1 {
		t.Errorf("%+v", d)
	}
	if j.descents != 1 || j.failed != 1 || j.lost["strict"] != 1 || j.lost["kill"] != 1 || j.got[outside] != 3 {
		t.Errorf("%+v", j)
	}
	if p := j.quantile("one/app", 0.99); p != 2 {
		t.Errorf("the quantile is %v", p)
	}
}
