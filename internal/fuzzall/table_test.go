package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/flakeward/flakeward/"

var (
	function = regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?(\w+)\(`)
	// parser is how functions are called that read what comes from outside. Some are called
	// otherwise; those are in the table by hand.
	parser = regexp.MustCompile(`^(parse|Parse|decode|Decode|unpad)([A-Z].*)?$`)
)

// functions are those of a package's files, tests or not, whatever tags they are behind.
func functions(t *testing.T, dir string, tests bool) (names []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") != tests {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range function.FindAllSubmatch(source, -1) {
			names = append(names, string(m[1]))
		}
	}
	return names
}

// Each parser of the table is there and has a target that is there; each target is in the table;
// and so is each function that is called as a parser is.
func TestTableIsComplete(t *testing.T) {
	const root = "../.."
	listed := map[string]bool{} // packages with their parsers and targets
	for _, r := range table {
		there, tests := functions(t, filepath.Join(root, r.pkg), false), functions(t, filepath.Join(root, r.pkg), true)
		for _, name := range strings.Fields(r.parsers) {
			if !slices.Contains(there, name) {
				t.Errorf("the table has %s of %s, which is not there: take it out, or name what reads %s now", name, r.pkg, r.what)
			}
			listed[r.pkg+" "+name] = true
		}
		for _, name := range strings.Fields(r.targets) {
			if !slices.Contains(tests, name) {
				t.Errorf("the table has %s of %s, which is not there: %s would not be fuzzed", name, r.pkg, r.what)
			}
			listed[r.pkg+" "+name] = true
		}
		if r.targets == "" || r.property == "" {
			t.Errorf("nothing fuzzes %s, or for nothing", r.what)
		}
	}
	found, err := targets(t.Context(), []string{module + "..."})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range found {
		for _, name := range p.targets {
			if at := strings.TrimPrefix(p.path, module) + " " + name; !listed[at] {
				t.Errorf("%s is not in the table: add what it fuzzes", at)
			}
		}
	}
	err = filepath.WalkDir(root, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if name := e.Name(); name == "testdata" || name == "openapi" || len(name) > 2 && name[0] == '.' { // the last but one is made by a generator
			return filepath.SkipDir
		}
		pkg, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		for _, name := range functions(t, path, false) {
			if at := filepath.ToSlash(pkg) + " " + name; parser.MatchString(name) && !listed[at] && notFuzzed[at] == "" {
				t.Errorf("%s is called as a parser is and not in the table: fuzz it, or say in notFuzzed why not", at)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestRunRefuses(t *testing.T) {
	for _, args := range [][]string{{"-time", "0s"}, {"-p", "0"}, {"-time", "1s", "../nearest"}} {
		if err := run(t.Context(), args, os.Stderr, os.Stderr); err == nil {
			t.Errorf("%q is taken", args)
		}
	}
}

// A target that fails is counted and shown, and so is a package that is not built; those that pass
// go on.
func TestReport(t *testing.T) {
	var out strings.Builder
	f := fuzzing{out: &out}
	f.report("a/b", "FuzzX", "fuzz: elapsed: 2s, execs: 5 (2/sec)\nfuzz: elapsed: 3s, execs: 71 (2/sec), new interesting: 1\n", nil)
	f.report("a/b", "FuzzY", "wrong\n", errFailed)
	f.report("a/c", "", "no such thing", errFailed)
	if want := "ok    a/b FuzzX, 71 inputs\nFAIL  a/b FuzzY: " + errFailed.Error() + "\n      wrong\nFAIL  a/c: " + errFailed.Error() + "\n      no such thing\n"; out.String() != want || f.fuzzed != 2 || f.failed != 2 {
		t.Errorf("%d fuzzed, %d failed:\n%s", f.fuzzed, f.failed, out.String())
	}
}
