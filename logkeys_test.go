package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// logKey is what a key of the log looks like, so that it needs no quotes in any query.
var logKey = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// logMethods are the methods of a logger, with the number of arguments before the keys and values.
var logMethods = map[string]int{"Trace": 1, "Debug": 1, "Info": 1, "Warn": 1, "Error": 1, "Log": 2, "With": 0}

// loggers are the names of the fields, variables and functions that are loggers.
var loggers = []string{"log", "Log", "logger", "Logger"}

// lineKeys returns the keys in a call that logs a line or makes the keys and values of one, and
// reports whether the call ends with a list that was made elsewhere.
func lineKeys(call *ast.CallExpr) (keys []ast.Expr, made bool) {
	method, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil, false
	}
	before, ok := logMethods[method.Sel.Name]
	if !ok || len(call.Args) < before {
		return nil, false
	}
	named := ""
	switch logger := method.X.(type) {
	case *ast.Ident:
		named = logger.Name
	case *ast.SelectorExpr:
		named = logger.Sel.Name
	}
	if !slices.Contains(loggers, named) {
		return nil, false
	}
	args := call.Args[before:]
	if call.Ellipsis.IsValid() {
		if list, ok := args[len(args)-1].(*ast.CallExpr); ok {
			keys = appended(list)
		}
		return keys, true
	}
	return everySecond(args), false
}

// appended are the keys that a call of append adds.
func appended(call *ast.CallExpr) []ast.Expr {
	if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "append" || call.Ellipsis.IsValid() {
		return nil
	}
	return everySecond(call.Args[1:])
}

func everySecond(args []ast.Expr) (keys []ast.Expr) {
	for i := 0; i < len(args); i += 2 {
		keys = append(keys, args[i])
	}
	return keys
}

// keysOf are the keys of all lines that a function logs. Where it logs a list that it has made, all
// lists of its kind count.
func keysOf(f *ast.FuncDecl) (keys []ast.Expr) {
	var lists []ast.Expr
	made := false
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			of, elsewhere := lineKeys(n)
			keys, made = append(keys, of...), made || elsewhere
			lists = append(lists, appended(n)...)
		case *ast.CompositeLit:
			if list, ok := n.Type.(*ast.ArrayType); ok {
				if kind, ok := list.Elt.(*ast.Ident); ok && kind.Name == "any" {
					lists = append(lists, everySecond(n.Elts)...)
				}
			}
		}
		return true
	})
	if made {
		keys = append(keys, lists...)
	}
	return keys
}

func TestLogKeysAreSnakeCase(t *testing.T) {
	count := 0
	for _, root := range []string{"cli", "clockguard", "coord", "daemon", "generator", "internal"} {
		must.Do(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
				return err
			}
			set := token.NewFileSet()
			file := must.Get(parser.ParseFile(set, path, nil, parser.SkipObjectResolution))(t)
			for _, decl := range file.Decls {
				f, ok := decl.(*ast.FuncDecl)
				if !ok {
					continue
				}
				for _, key := range keysOf(f) {
					literal, ok := key.(*ast.BasicLit)
					if !ok || literal.Kind != token.STRING {
						continue // a variable, or no key
					}
					count++
					if text := must.Get(strconv.Unquote(literal.Value))(t); !logKey.MatchString(text) {
						t.Errorf("%s: the key %q of a line is not in snake_case", set.Position(key.Pos()), text)
					}
				}
			}
			return nil
		}))
	}
	if count < 200 {
		t.Errorf("%d keys were found, more than 200 are there: do the names of the loggers differ?", count)
	}
}
