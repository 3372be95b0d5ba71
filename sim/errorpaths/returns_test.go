package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// functionsOf returns all functions of a source.
func functionsOf(t *testing.T, source string) (*token.FileSet, []function) {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var all []function
	for _, d := range file.Decls {
		if d, ok := d.(*ast.FuncDecl); ok {
			all = append(all, function{d.Name.Name, d})
		}
	}
	return fset, all
}

func TestExits(t *testing.T) {
	for name, tt := range map[string]struct {
		function string
		want     []string
	}{
		"nothing returned":          {`func f() { return }`, nil},
		"no error":                  {`func f() (int, string) { return 1, "x" }`, nil},
		"nil":                       {`func f() (int, error) { return 1, nil }`, nil},
		"a variable":                {`func f() (int, error) { return 1, err }`, []string{"return 1, err"}},
		"a call":                    {`func f() error { return g(1) }`, []string{"return g(1)"}},
		"a call of several results": {`func f() (int, error) { return g() }`, []string{"return g()"}},
		"a value made":              {`func f() error { return &e{1} }`, []string{"return &e{1}"}},
		"several lines": {"func f() error {\n\treturn g(1,\n\t\t2)\n}", []string{
			"return g(1, 2)"}},
		"a name and no result":      {`func f() (err error) { return }`, []string{"return"}},
		"a blank name":              {`func f() (_ int, _ error) { return g() }`, []string{"return g()"}},
		"an error that was before":  {`func f() (before error) { return x }`, nil},
		"an error that is not last": {`func f() (error, bool) { return x, false }`, nil},
		"a type of error":           {`func f() *e { return x }`, nil},
		"a reason":                  {`func f() (c int, reason string) { if c > 0 { return 1, "" }; return 0, "torn" }`, []string{`return 0, "torn"`}},
		"a string":                  {`func f() (c int, s string) { return 0, "torn" }`, nil},
		"in all kinds of statements": {`func f() error {
			for { if x { return a }; switch { case y: return b; default: return nil } }
			select { case <-c: return d }
			{ return e }
		}`, []string{"return a", "return b", "return d", "return e"}},
		"a literal's are its own": {`func f() int {
			g(func() error { return a })
			h(func() { return })
			return i(func() (err error) { defer func() int { return 1 }(); return })
		}`, []string{"return a", "return"}},
		"a literal in a result": {`func f() error { return g(func() error { return a }) }`, []string{
			"return g(func() error { return a })", "return a"}},
	} {
		t.Run(name, func(t *testing.T) {
			source := "package p\n" + tt.function
			fset, functions := functionsOf(t, source)
			var got []string
			for _, e := range exitsOf(fset, []byte(source), "p.go", functions[0]) {
				if at := strings.Split(source, "\n")[e.line-1]; !strings.Contains(at, "return") {
					t.Errorf("line %d is %q", e.line, at)
				}
				got = append(got, e.text)
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestSplit(t *testing.T) {
	for name, tt := range map[string]struct{ function, want string }{
		"one result": {
			`func f() error { return g() }`,
			`func f() error { if result0 := func() (error) { return g() }(); result0 != nil { /* HERE */ return result0 } else { return result0 } }`,
		},
		"several": {
			`func f() (a, b *c.D, _ error) { return nil, g(), err }`,
			`func f() (a, b *c.D, _ error) { if result0, result1, result2 := func() (*c.D, *c.D, error) { return nil, g(), err }(); result2 != nil { /* HERE */ return result0, result1, result2 } else { return result0, result1, result2 } }`,
		},
		"names": {
			`func f() (x int, err error) { return }`,
			`func f() (x int, err error) { if err != nil { /* HERE */ return } else { return } }`,
		},
		"a reason": {
			`func f() (x int, reason string) { return 1, "no" }`,
			`func f() (x int, reason string) { if result0, result1 := func() (int, string) { return 1, "no" }(); result1 != "" { /* HERE */ return result0, result1 } else { return result0, result1 } }`,
		},
		"one in another": {
			"func f() error {\n\treturn g(func() error {\n\t\treturn a\n\t}, 2)\n}",
			"func f() error {\n\tif result0 := func() (error) { return g(func() error {\n\t\t" +
				"if result0 := func() (error) { return a }(); result0 != nil { /* HERE */ return result0 } else { return result0 }" +
				"\n\t}, 2) }(); result0 != nil { /* HERE */ return result0 } else { return result0 }\n}",
		},
		"none": {`func f() error { return nil }`, `func f() error { return nil }`},
	} {
		t.Run(name, func(t *testing.T) {
			source := "package p\n\n// as it was\n" + tt.function + "\n"
			fset, functions := functionsOf(t, source)
			exits := exitsOf(fset, []byte(source), "p.go", functions[0])
			got := string(split(fset, []byte(source), exits))
			lines := strings.Split(got, "\n")
			if len(lines) != len(strings.Split(source, "\n")) {
				t.Errorf("the lines are others: %s", got)
			}
			for _, e := range exits {
				if at := lines[e.taken.line-1][e.taken.column-1:]; !strings.HasPrefix(at, e.mark()) {
					t.Errorf("%s: %+v is %q", e.text, e.taken, at)
				}
				got = strings.Replace(got, e.mark(), "/* HERE */", 1)
			}
			if want := "package p\n\n// as it was\n" + tt.want + "\n"; got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			functionsOf(t, got) // it is Go
		})
	}
}
