package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestLoadPatches(t *testing.T) {
	dir := t.TempDir()
	some := func(names ...string) ([]mutant, error) {
		return loadPatches(dir, names, []string{"Drills"}, []string{"Slow"})
	}
	if _, err := some(); err == nil {
		t.Error("no patch at all was accepted")
	}
	write(t, filepath.Join(dir, "one.patch"), "# Breaks the first: all of it.\n# Drills: /a etcd/b\n# Slow\n--- a/x\n# Odd: hunk\n")
	write(t, filepath.Join(dir, "two.patch"), "# Breaks the second.\n# Drills: /c\n--- a/x\n")
	all, err := some()
	if err != nil || len(all) != 2 || all[0].Breaks != "the first: all of it." || strings.Join(all[0].Words("Drills"), " ") != "/a etcd/b" || !all[0].Has("Slow") || all[1].Has("Slow") {
		t.Errorf("%+v, %v", all, err)
	}
	if two, err := some("two"); err != nil || len(two) != 1 || two[0].Name != "two" || !filepath.IsAbs(two[0].Path) {
		t.Errorf("%+v, %v", two, err)
	}
	if _, err := some("three"); err == nil || !strings.Contains(err.Error(), "three.patch") {
		t.Errorf("a name that is not there: %v", err)
	}
	for what, head := range map[string]string{
		"no drills":      "# Breaks it all.\n",
		"drills unnamed": "# Breaks it all.\n# Drills:\n",
		"nothing broken": "# Drills: /a\n",
		"misspelt":       "# Breaks it all.\n# Drills: /a\n# Slwo\n",
	} {
		write(t, filepath.Join(dir, "bad.patch"), head+"--- a/x\n")
		if _, err := some(); err == nil || !strings.Contains(err.Error(), "bad.patch") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestCopyIsBroken: only the copy is, and Undo mends it.
func TestCopyIsBroken(t *testing.T) {
	root, to, patches := t.TempDir(), t.TempDir(), t.TempDir()
	if out, err := exec.Command("git", "-C", root, "init", "--quiet").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Mkdir(filepath.Join(root, "a"), 0o700); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(root, ".gitignore"), "built\n")
	write(t, filepath.Join(root, "built"), "")
	write(t, filepath.Join(root, "a", "x"), "good\n")
	write(t, filepath.Join(root, "deleted"), "")
	if out, err := exec.Command("git", "-C", root, "add", "deleted").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := os.Remove(filepath.Join(root, "deleted")); err != nil {
		t.Fatal(err)
	}
	if err := copySource(t.Context(), root, to); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(patches, "t.patch"), "# Breaks x.\n--- a/a/x\n+++ b/a/x\n@@ -1 +1 @@\n-good\n+bad\n")
	all, err := loadPatches(patches, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	reads := func(dir, want string) {
		t.Helper()
		if b, err := os.ReadFile(filepath.Join(dir, "a", "x")); err != nil || string(b) != want {
			t.Errorf("%q, %v, not %q", b, err, want)
		}
	}
	if err := all[0].Apply(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	reads(to, "bad\n")
	reads(root, "good\n")
	if err := all[0].Apply(t.Context(), to); !errors.Is(err, errStale) {
		t.Errorf("what is broken already can be broken again: %v", err)
	}
	if err := all[0].Undo(t.Context(), to); err != nil {
		t.Error(err)
	}
	reads(to, "good\n")
	if _, err := os.Stat(filepath.Join(to, "built")); err == nil {
		t.Error("what git ignores was copied")
	}
}

// TestCompiler: a patch that fits and does not compile is told from one that compiles.
func TestCompiler(t *testing.T) {
	root, patches := t.TempDir(), t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module example.org/m\n\ngo 1.24\n")
	write(t, filepath.Join(root, "x.go"), "package m\n\nvar X = 1\n")
	write(t, filepath.Join(root, "y.go"), "package m\n\nimport \"strings\"\n\nfunc Y() string { return strings.ToUpper(z()) }\n")
	write(t, filepath.Join(root, "z.go"), "package m\n\nfunc z() string {\n\treturn \"z\"\n}\n")
	patch := func(name, file, lines string) {
		write(t, filepath.Join(patches, name+".patch"), "# Breaks it.\n--- a/"+file+"\n+++ b/"+file+"\n"+lines)
	}
	patch("bad", "x.go", "@@ -3 +3 @@\n-var X = 1\n+var X = y\n")
	patch("good", "x.go", "@@ -3 +3 @@\n-var X = 1\n+var X = 2\n")
	patch("stale", "x.go", "@@ -3 +3 @@\n-var X = 7\n+var X = 2\n")
	patch("within", "z.go", "@@ -3,3 +3,3 @@\n func z() string {\n-\treturn \"z\"\n+\treturn \"y\"\n }\n")
	patch("within-bad", "z.go", "@@ -3,3 +3,3 @@\n func z() string {\n-\treturn \"z\"\n+\treturn x\n }\n")
	patch("within-unused", "z.go", "@@ -3,3 +3,4 @@\n func z() string {\n+\tv := 1\n \treturn \"z\"\n }\n")
	patch("without", "z.go", "@@ -3,3 +3,3 @@\n-func z() string {\n+func w() string {\n \treturn \"z\"\n }\n")
	all, err := loadPatches(patches, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	compiler, err := newCompiler(t.Context(), root, "")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"undefined: y", "", errStale.Error(), "undefined: x", "declared and not used: v", "", "undefined: z"} {
		if err := compiler.Check(t.Context(), all[i]); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", all[i].Name, err)
		}
	}
}
