package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// root is that of the source, from here.
var root = filepath.Join("..", "..")

// TestEachBugFits: a bug whose lines do not stand in the source any more breaks nothing, and a test
// that is gone finds none. That it compiles shows when it is tried.
func TestEachBugFits(t *testing.T) {
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

const example = `## one
Breaks the first: all of it.
Tests: ./a ./b:TestX|TestY ./c ./d:TestX|TestY
Found: sim tests
Recover
a/x.go
-bad
+	good
 kept

## two
Breaks the second.
Drills: /a etcd/b
a/x.go
-twice
b/y.go
 kept
+new
`

func TestParse(t *testing.T) {
	all := must.Get(parse(example))(t)
	one, two := all[0], all[1]
	want := []suite{{"", []string{"./a", "./c"}}, {"TestX|TestY", []string{"./b", "./d"}}}
	same := func(a, b suite) bool { return a.run == b.run && slices.Equal(a.packages, b.packages) }
	if one.name != "one" || one.breaks != "the first: all of it." || !one.recovers || !slices.Equal(one.must, []string{bySim, byTests}) ||
		!slices.EqualFunc(one.suites, want, same) || !slices.Equal(one.changes, []change{{"a/x.go", "bad\nkept\n", "\tgood\nkept\n"}}) {
		t.Errorf("%+v", one)
	}
	if two.recovers || !slices.Equal(two.drills, []string{"/a", "etcd/b"}) ||
		!slices.Equal(two.changes, []change{{"a/x.go", "twice\n", ""}, {"b/y.go", "kept\n", "kept\nnew\n"}}) {
		t.Errorf("%+v", two)
	}
	if w := whole(all); !slices.EqualFunc(w.suites, want, same) || !w.recovers || w.changes != nil {
		t.Errorf("of the whole source %+v is asked", w)
	}
	for what, text := range map[string]string{
		"no drills and no tests": "## n\nBreaks it.\nx.go\n-a\n",
		"found by luck":          "## n\nBreaks it.\nTests: ./a\nFound: luck\nx.go\n-a\n",
		"nothing broken":         "## n\nTests: ./a\nFound: sim\nx.go\n-a\n",
		"no change":              "## n\nBreaks it.\nTests: ./a\nFound: sim\n",
		"misspelt":               "## n\nBreaks it.\nTests: ./a\nFound: sim\nRecovr\nx.go\n-a\n",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%s: accepted", what)
		}
	}
}

// TestBroken: whole lines change, where they stand once, and the source stays as it is.
func TestBroken(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		must.Do(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o600))
	}
	write("x.go", "one\n\ttwo\nthree\ntwo\n")
	for _, c := range []struct{ old, new, want string }{
		{"one\n", "", "\ttwo\nthree\ntwo\n"},
		{"\ttwo\nthree\n", "four\n", "one\nfour\ntwo\n"},
		{"two\n", "four\n", "one\n\ttwo\nthree\nfour\n"},
		{"three\ntwo\n", "three\n", "one\n\ttwo\nthree\n"},
		{"five\n", "", ""},
		{"ne\n", "", ""},
		{"", "x\n", ""},
	} {
		files, err := bug{name: "b", changes: []change{{"x.go", c.old, c.new}}}.broken(root)
		if errors.Is(err, errStale) != (c.want == "") || files["x.go"] != c.want {
			t.Errorf("%q: %q, %v, not %q", c.old, files["x.go"], err, c.want)
		}
	}
	write("x.go", "two\ntwo\n")
	if _, err := (bug{changes: []change{{"x.go", "two\n", ""}}}).broken(root); !errors.Is(err, errStale) {
		t.Errorf("lines that stand there twice: %v", err)
	}
	// A second change of one file sees what the first one left.
	write("x.go", "a\nb\n")
	files := must.Get(bug{changes: []change{{"x.go", "a\n", "c\n"}, {"x.go", "c\nb\n", "d\n"}}}.broken(root))(t)
	if files["x.go"] != "d\n" {
		t.Errorf("%q", files["x.go"])
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

// TestPanic: a bug that panics is found by anything that runs it, and proves nothing.
func TestPanic(t *testing.T) {
	for violated, bad := range map[string]bool{"panic: nil dereference": true, "d0: an ID twice": false, "": false} {
		if err := panicked(violated); (err != nil) != bad {
			t.Errorf("%q: %v", violated, err)
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
