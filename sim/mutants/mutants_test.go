package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// root is that of the source, from here.
var root = filepath.Join("..", "..")

// TestEachBugFits: a bug whose lines do not stand in the source any more breaks nothing, and a test
// that is gone finds none. That it compiles shows when it is tried. The core is of 40 at least.
func TestEachBugFits(t *testing.T) {
	core := 0
	for pattern, least := range map[string]int{tested: 235, drilled: 5} {
		names := map[string]bool{}
		bugs := must.Get(load(root, pattern, nil))(t)
		if len(bugs) < least {
			t.Errorf("%s has %d bugs, %d are wanted", pattern, len(bugs), least)
		}
		for _, b := range bugs {
			if names[b.name] {
				t.Errorf("two bugs are named %s", b.name)
			}
			names[b.name] = true
			if b.core {
				core++
			}
			if _, err := b.broken(root); err != nil {
				t.Error(err)
			}
			for _, s := range b.suites {
				for _, name := range s.packages {
					if pattern, _, _ := strings.Cut(s.run, "/"); !hasTest(t, filepath.Join(root, name), pattern) {
						t.Errorf("%s: %s has no test %s", b.name, name, pattern)
					}
				}
			}
		}
	}
	if core < 40 {
		t.Errorf("the core is of %d bugs, 40 are wanted", core)
	}
}

// hasTest reports whether the package has a test that the pattern names.
func hasTest(t *testing.T, dir, pattern string) bool {
	t.Helper()
	for _, file := range must.Get(filepath.Glob(filepath.Join(dir, "*_test.go")))(t) {
		for _, found := range declared.FindAllSubmatch(must.Get(os.ReadFile(file))(t), -1) {
			if regexp.MustCompile(pattern).Match(found[1]) {
				return true
			}
		}
	}
	return false
}

var declared = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Example)\w*)\(`)

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

// TestReport: what is found by others than it must be is reported, and fails.
func TestReport(t *testing.T) {
	made := func(name, must string, seed uint64, failed ...string) (f finding) {
		f.name, f.must, f.seed, f.failed = name, strings.Fields(must), seed, failed
		return f
	}
	stale := made("h", "sim", 0)
	stale.bad = errors.New("it does not compile")
	missed := made("i", "", 0, "floor on etcd (3 violations)")
	missed.missed = []string{"floor on ZooKeeper"}
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
			t.Errorf("%s: %v, %v\n%s", c.f.name, all, err, b.String())
		}
	}
}
