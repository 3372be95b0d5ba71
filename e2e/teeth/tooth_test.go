package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestEachPatchFits: a patch that does not fit the source any more breaks nothing.
func TestEachPatchFits(t *testing.T) {
	teeth, err := load(".", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(teeth) < 5 {
		t.Errorf("there are %d teeth", len(teeth))
	}
	for _, tooth := range teeth {
		path, err := filepath.Abs(tooth.path)
		if err != nil {
			t.Fatal(err)
		}
		c := exec.Command("git", "apply", "--check", path)
		c.Dir = filepath.Join("..", "..")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", tooth.name, err, out)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	put := func(name, head string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".patch"), []byte(head+"--- a/x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := load(dir, nil); err == nil {
		t.Error("no patch at all was accepted")
	}
	put("one", "# Breaks the first.\n# Drills: /a etcd/b\n")
	put("two", "# Breaks the second.\n# Drills: /c\n")
	all, err := load(dir, nil)
	if err != nil || len(all) != 2 || all[0].breaks != "the first." || strings.Join(all[0].drills, " ") != "/a etcd/b" {
		t.Errorf("%+v, %v", all, err)
	}
	if some, err := load(dir, []string{"two"}); err != nil || len(some) != 1 || some[0].name != "two" {
		t.Errorf("%+v, %v", some, err)
	}
	if _, err := load(dir, []string{"three"}); err == nil || !strings.Contains(err.Error(), "three.patch") {
		t.Errorf("a name that is not there: %v", err)
	}
	put("bad", "# Breaks it all.\n")
	if _, err := load(dir, nil); err == nil || !strings.Contains(err.Error(), "bad.patch") {
		t.Errorf("a head without drills: %v", err)
	}
}
