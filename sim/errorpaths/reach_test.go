package main

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"
)

// checkedOf is a package of one file, which imports nothing.
func checkedOf(t *testing.T, source string) checked {
	t.Helper()
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	c, err := typesOf(fset, "p", []*ast.File{file}, importer.Default())
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestReach(t *testing.T) {
	c := checkedOf(t, `package p

type store interface{ read() error }

type near struct{}
func (near) read() error { return inNear() }
func inNear() error { return nil }

type far struct{}
func (*far) read() error { return inFar() }
func inFar() error { return nil }
func (*far) close() error { return nil }

type other struct{}
func (other) read(int) error { return nil }

type top struct{ s store }
func (t top) call() error { return t.s.read() }
func (t *top) value() { f := t.byValue; _ = f }
func (t *top) byValue() {}
func (t *top) literal() { func() { again() }() }
func again() { again(); generic(1) }
func generic[T any](T) { last() }
func last() {}
func unused() { last() }
`)
	for name, tt := range map[string]struct {
		roots, elsewhere []string
		want             string
	}{
		"itself":             {[]string{"inNear"}, nil, "inNear"},
		"an interface":       {[]string{"top.call"}, nil, "near.read inNear far.read inFar top.call"},
		"a type elsewhere":   {[]string{"top.call"}, []string{"far"}, "near.read inNear top.call"},
		"a root elsewhere":   {[]string{"far.read"}, []string{"far"}, "far.read inFar"},
		"a method's value":   {[]string{"top.value"}, nil, "top.value top.byValue"},
		"a literal, a cycle": {[]string{"top.literal"}, nil, "top.literal again generic last"},
		"several":            {[]string{"unused", "inFar"}, nil, "inFar last unused"},
	} {
		t.Run(name, func(t *testing.T) {
			functions, err := c.reach(tt.roots, tt.elsewhere)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range functions {
				got = append(got, f.name)
			}
			if !slices.Equal(got, strings.Fields(tt.want)) {
				t.Errorf("got %v, want %s", got, tt.want)
			}
		})
	}
	for _, wrong := range []struct{ roots, elsewhere []string }{{[]string{"top.gone"}, nil}, {[]string{"last"}, []string{"gone"}}} {
		if _, err := c.reach(wrong.roots, wrong.elsewhere); err == nil || !strings.Contains(err.Error(), "gone") {
			t.Errorf("%v: %v", wrong, err)
		}
	}
}

// The tables have all that they are to have, and nothing that has no place in the simulation.
func TestReachOfTheTables(t *testing.T) {
	all, err := list(".", simulation.module+"/"+simulation.program)
	if err != nil {
		t.Fatal(err)
	}
	tables, _, err := simulation.examine(all)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, f := range tables {
		for _, r := range f.rows {
			has[f.pkg+" "+r.function] = true
		}
	}
	for _, want := range []string{
		"coord/claims claimant.sticky", "coord/claims membership.judge", "coord/claims nodes.deleteOrphans", "coord/claims pending.open", "coord/claims held.write",
		"coord/claims decodeLayout", "coord/claims decodeRecord", "coord/claims decodeHistory", "coord/claims decodeHost",
		"daemon/journal encode", "daemon/journal bodyOf", "daemon/journal contentsOf", "daemon/journal Entry.check", "daemon/journal prepare", "daemon/journal File.prepare",
		"daemon/grant claimer.leave", "daemon/grant claimer.adopt", "daemon/grant holdings.write",
	} {
		if !has[want] {
			t.Errorf("%s is not looked at", want)
		}
	}
	for _, none := range []string{"coord/claims Coordinator.Join", "coord/claims Coordinator.Raise", "daemon/journal realDisk.make", "daemon/journal openDir", "daemon/journal Dir.Close"} {
		if has[none] {
			t.Errorf("%s is looked at", none)
		}
	}
}

// A table of its own for each package: two would both replace its files.
func TestOneTableForEachPackage(t *testing.T) {
	seen := map[string]bool{}
	for _, f := range simulation.tables {
		if seen[f.pkg] {
			t.Errorf("%s has two", f.pkg)
		}
		seen[f.pkg] = true
	}
}
