package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is that of the source, from here.
var root = filepath.Join("..", "..")

// TestEachPatchFits: a patch that does not fit the source any more, or does not compile, breaks
// nothing.
func TestEachPatchFits(t *testing.T) {
	all := func(dir, tags string, load func(string, []string) ([]broken, error)) []broken {
		mutants, err := load(filepath.Join(root, dir), nil)
		if err != nil {
			t.Fatal(err)
		}
		compiler, err := newCompiler(t.Context(), root, tags)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range mutants {
			if err := compiler.Check(t.Context(), b.mutant); err != nil {
				t.Error(err)
			}
		}
		return mutants
	}
	if drilled := all(drillPatches, "drill", loadDrilled); len(drilled) < 5 {
		t.Errorf("there are %d mutants for the drills", len(drilled))
	}
	mutants, sim := all(patches, "", load), 0
	for _, b := range mutants {
		if slices.Contains(b.must, bySim) {
			sim++
		}
		for _, s := range b.suites {
			for _, name := range s.packages {
				if _, err := os.Stat(filepath.Join(root, name)); err != nil {
					t.Errorf("%s: %v", b.Name, err)
				}
			}
		}
	}
	if sim < 30 {
		t.Errorf("the simulation must find %d of %d", sim, len(mutants))
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	put := func(name, head string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name+".patch"), []byte("# Breaks it.\n"+head+"--- a/x\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	put("one", "# Tests: ./a ./b:TestX|TestY ./c ./d:TestX|TestY\n# Found: sim tests\n")
	put("two", "# Tests: ./c ./a\n# Found: tests\n# Recover\n")
	all, err := load(dir, nil)
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	want := []suite{{"", []string{"./a", "./c"}}, {"TestX|TestY", []string{"./b", "./d"}}}
	same := func(a, b suite) bool { return a.run == b.run && slices.Equal(a.packages, b.packages) }
	if one := all[0]; !slices.EqualFunc(one.suites, want, same) || one.recovers || !slices.Equal(one.must, []string{bySim, byTests}) {
		t.Errorf("%+v", one)
	}
	if two := all[1]; !two.recovers {
		t.Errorf("%+v", two)
	}
	if w := whole(all); !slices.EqualFunc(w.suites, want, same) || !w.recovers {
		t.Errorf("of the whole source %+v is asked", w)
	}
	put("bad", "# Tests: ./a\n# Found: luck\n")
	if _, err := load(dir, nil); err == nil || !strings.Contains(err.Error(), "luck") {
		t.Errorf("to be found by luck: %v", err)
	}
}

func TestFailures(t *testing.T) {
	const p = `"Package":"example.org/m/daemon/grant"`
	for _, c := range []struct{ what, said, failed, err string }{
		{"none", `{"Action":"pass",` + p + `,"Test":"TestA"}{"Action":"pass",` + p + `}`, "", ""},
		{"two, one of them by a subtest", `{"Action":"fail",` + p + `,"Test":"TestB/x/y"}{"Action":"fail",` + p + `,"Test":"TestB"}{"Action":"fail",` + p + `,"Test":"TestA"}{"Action":"fail",` + p + `}`, "grant.TestA grant.TestB", ""},
		{"a package without a test", `{"Action":"fail",` + p + `}`, "grant as a whole", ""},
		{"no build", `{"ImportPath":"example.org/m/daemon/grant","Action":"build-output","Output":"x.go:1: undefined: y\n"}{"ImportPath":"example.org/m/daemon/grant","Action":"build-fail"}`, "", "undefined: y"},
		{"no build of what it needs", `{"Action":"fail",` + p + `,"FailedBuild":"example.org/m/coord"}`, "", "do not compile"},
		{"no such test", `{"Action":"output",` + p + `,"Output":"testing: warning: no tests to run\n"}{"Action":"pass",` + p + `}`, "", "no test of that name"},
		{"no report", `nonsense`, "", "cannot be read"},
	} {
		failed, err := failures(strings.NewReader(c.said))
		if got := strings.Join(failed, " "); got != c.failed || (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %q, %v", c.what, got, err)
		}
	}
}

func TestViolation(t *testing.T) {
	if m := violation.FindStringSubmatch("seed 42: VIOLATION: d0: an ID twice"); m == nil || m[1] != "42" || m[2] != "d0: an ID twice" {
		t.Errorf("%q", m)
	}
}

// TestPanic: a break that panics is found by anything that runs it, and proves nothing.
func TestPanic(t *testing.T) {
	for violated, bad := range map[string]bool{"panic: nil dereference": true, "d0: an ID twice": false, "": false} {
		if err := panicked(violated); (err != nil) != bad {
			t.Errorf("%q: %v", violated, err)
		}
	}
}

// TestReport: what is found by others than it must be is told, and fails.
func TestReport(t *testing.T) {
	made := func(name, must string, seed uint64, failed ...string) (f finding) {
		f.Name, f.must, f.seed, f.failed = name, strings.Fields(must), seed, failed
		return f
	}
	stale := made("h", "sim", 0)
	stale.bad = errors.New("it does not compile")
	missed := made("i", "", 0, "floor on etcd (3 violations)")
	missed.not = []string{"floor on ZooKeeper"}
	for _, c := range []struct {
		f    finding
		want string // empty: all is well
	}{
		{stale, "h: it does not compile"},
		{made("j", "", 0, "floor on etcd (3 violations)"), ""},
		{missed, "i must be found by: floor on ZooKeeper"},
		{made("a", "sim", 3), ""},
		{made("b", "sim tests", 3, "p.TestA"), ""},
		{made("c", "tests", 0, "p.TestA"), ""},
		{made("d", "sim", 0, "p.TestA"), "d must be found by: sim"},
		{made("e", "tests", 3), "e must be found by: tests"},
		{made("f", "sim tests", 3), "f must be found by: tests"},
		{made("g", "tests", 0), "g must be found by: tests"},
	} {
		var b strings.Builder
		all, err := report(&b, 1000, []finding{c.f})
		if err != nil || all != (c.want == "") || c.want != "" && !strings.Contains(b.String(), c.want) {
			t.Errorf("%s: %v, %v\n%s", c.f.Name, all, err, b.String())
		}
	}
}

// FuzzFailures: whatever go test says, tests that failed have names, and each is told once.
func FuzzFailures(f *testing.F) {
	f.Add(`{"Action":"fail","Package":"m/grant","Test":"TestA/x"}{"Action":"fail","Package":"m/grant","Test":"TestA"}{"Action":"fail","Package":"m/grant"}`)
	f.Add(`{"Action":"fail","Package":"m/coord"}{"Action":"build-output","Output":"x"}`)
	f.Fuzz(func(t *testing.T, said string) {
		failed, err := failures(strings.NewReader(said))
		if err != nil && failed != nil {
			t.Errorf("%q: %q with %v", said, failed, err)
		}
		for i, name := range failed {
			if !strings.ContainsAny(name, ". ") || i > 0 && failed[i-1] >= name {
				t.Errorf("%q: %q", said, failed)
			}
		}
	})
}
