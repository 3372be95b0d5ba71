package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/e2e/report"
)

func TestRun(t *testing.T) {
	dir := t.TempDir()
	for i, d := range []report.Drill{
		{Name: "oscillation", Coordinator: "etcd"}, {Name: "leader-killed", Coordinator: "ZooKeeper"}, {Name: "leader-killed", Coordinator: "etcd", IDs: 1000},
	} {
		folder := filepath.Join(dir, string(rune('a'+i)))
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := report.Save(filepath.Join(folder, report.FileName), d); err != nil {
			t.Fatal(err)
		}
	}
	out := filepath.Join(dir, "drills.svg")
	if err := run([]string{"-in", dir, "-out", out, "-on", "zookeeper"}); err != nil {
		t.Fatal(err)
	}
	picture, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"1,000 IDs", "One of them: leader-killed on ZooKeeper"} {
		if !strings.Contains(string(picture), want) {
			t.Errorf("the picture does not say %q", want)
		}
	}
	if err := run([]string{"-in", dir, "-out", out, "-show", "quorum"}); err == nil || !strings.Contains(err.Error(), "oscillation on etcd") {
		t.Errorf("for a drill that was not run: %v", err)
	}
	if err := run([]string{"-in", t.TempDir(), "-out", out}); err == nil {
		t.Error("no drills are no error")
	}
}
