package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// logKey is what a key of the log looks like, so that it needs no quotes in any query.
var logKey = regexp.MustCompile(`^"[a-z][a-z0-9]*(_[a-z0-9]+)*"$`)

// logMethods are the methods of a logger, with the number of arguments before the keys and values.
var logMethods = map[string]int{"Trace": 1, "Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "Log": 2, "With": 0}

// loggers are the names of the fields, variables and functions that are loggers.
var loggers = []string{"log", "Log", "logger", "Logger"}

// logged returns the keys and values in a call that logs a line; nil in another call.
func logged(call *ast.CallExpr) []ast.Expr {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	named := ""
	switch logger := method.X.(type) {
	case *ast.Ident:
		named = logger.Name
	case *ast.SelectorExpr:
		named = logger.Sel.Name
	}
	before, ok := logMethods[method.Sel.Name]
	if !ok || !slices.Contains(loggers, named) || len(call.Args) < before {
		return nil
	}
	return call.Args[before:]
}

// A list of keys and values that is made before the call is not looked at.
func TestLogKeysAreSnakeCase(t *testing.T) {
	count := 0
	look := func(set *token.FileSet, call *ast.CallExpr) {
		for i, arg := range logged(call) {
			if key, ok := arg.(*ast.BasicLit); ok && i%2 == 0 {
				if count++; !logKey.MatchString(key.Value) {
					t.Errorf("%s: the key %s of a line is not in snake_case", set.Position(key.Pos()), key.Value)
				}
			}
		}
	}
	for _, root := range []string{"cli", "clockguard", "coord", "daemon", "generator", "internal"} {
		must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file := must.Get(parser.ParseFile(set, path, nil, parser.SkipObjectResolution))(t)
			ast.Inspect(file, func(n ast.Node) bool {
				if call, ok := n.(*ast.CallExpr); ok {
					look(set, call)
				}
				return true
			})
			return nil
		}))
	}
	if count < 150 {
		t.Errorf("%d keys were found, more than 150 are there: do the names of the loggers differ?", count)
	}
}
