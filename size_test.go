package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// A type with more methods, or a longer file, holds a second idea.
const (
	mostMethods = 25
	mostLines   = 400
)

// TestOneIdeaATypeAndAFile: no type of the product is large enough to hold two ideas.
func TestOneIdeaATypeAndAFile(t *testing.T) {
	all := must.Get(sources("."))(t)
	for pkg, files := range all {
		if !ofProduct(pkg) {
			continue
		}
		methods := map[string]map[string]bool{}
		for _, s := range files {
			text := must.Get(os.ReadFile(s.path))(t)
			if lines := bytes.Count(text, []byte("\n")); lines > mostLines {
				t.Errorf("%s has %d lines; %d are allowed: look for the second idea", s.path, lines, mostLines)
			}
			count(t, s.path, text, methods)
		}
		for name, of := range methods {
			if len(of) > mostMethods {
				t.Errorf("%s.%s has %d methods; %d are allowed: look for the second idea", pkg, name, len(of), mostMethods)
			}
		}
	}
}

// count adds the methods in a file to those of their types. A method that several systems each have
// a file for counts once.
func count(t *testing.T, path string, text []byte, methods map[string]map[string]bool) {
	t.Helper()
	file := must.Get(parser.ParseFile(token.NewFileSet(), path, text, parser.SkipObjectResolution))(t)
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		of := f.Recv.List[0].Type
		if star, pointer := of.(*ast.StarExpr); pointer {
			of = star.X
		}
		if index, generic := of.(*ast.IndexExpr); generic {
			of = index.X
		}
		if name, named := of.(*ast.Ident); named {
			if methods[name.Name] == nil {
				methods[name.Name] = map[string]bool{}
			}
			methods[name.Name][f.Name.Name] = true
		}
	}
}
