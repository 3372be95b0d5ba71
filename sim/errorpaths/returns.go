package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// exit is a return statement that may return an error: the last result of its function is an error,
// or a string called reason as in the decoding of a journal, and what stands last is not the
// literal nil or "". An error with a name other than err is something else, as one of before.
type exit struct {
	function string // Coordinator.Claim
	file     string // import path and file name, as coverage profiles have it
	line     int
	text     string // the statement, in one line

	statement *ast.ReturnStmt
	signature *ast.FuncType

	taken place  // where the error is returned in the source that was split
	count uint64 // how often it was
}

// exitsOf returns the exits of a function and of the function literals in it, in their order.
func exitsOf(fset *token.FileSet, source []byte, file string, f function) []*exit {
	var found []*exit
	var walk func(n ast.Node, signature *ast.FuncType)
	walk = func(n ast.Node, signature *ast.FuncType) {
		ast.Inspect(n, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncLit:
				walk(n.Body, n.Type)
				return false
			case *ast.ReturnStmt:
				if mayFail(signature, n) {
					at := fset.Position(n.Pos())
					text := strings.Join(strings.Fields(string(source[at.Offset:fset.Position(n.End()).Offset])), " ")
					found = append(found, &exit{function: f.name, file: file, line: at.Line, text: text, statement: n, signature: signature})
				}
			}
			return true
		})
	}
	walk(f.Body, f.Type)
	return found
}

// mayFail reports whether a return statement of a function is an exit.
func mayFail(signature *ast.FuncType, statement *ast.ReturnStmt) bool {
	nothing := ok(signature)
	if nothing == "" {
		return false
	}
	if len(statement.Results) == 0 {
		return true // the named result may be one
	}
	switch last := statement.Results[len(statement.Results)-1].(type) {
	case *ast.Ident:
		return last.Name != nothing
	case *ast.BasicLit:
		return last.Value != nothing
	}
	return true
}

// ok is what the last result of a function is if nothing went wrong; empty if it does not tell.
func ok(signature *ast.FuncType) string {
	if signature.Results == nil {
		return ""
	}
	last := signature.Results.List[len(signature.Results.List)-1]
	name := ""
	if len(last.Names) > 0 {
		name = last.Names[len(last.Names)-1].Name
	}
	switch kind, _ := last.Type.(*ast.Ident); {
	case kind == nil:
		return ""
	case kind.Name == "error" && (name == "" || name == "err" || name == "_"):
		return "nil"
	case kind.Name == "string" && name == "reason":
		return `""`
	}
	return ""
}

// split returns the source with each exit in two, so that a coverage profile tells the error that
// was returned from the nil that was:
//
//	return x, f(y)
//
// becomes, in the same lines,
//
//	if r0, r1 := func() (X, error) { return x, f(y) }(); r1 != nil { return r0, r1 } else { return r0, r1 }
//
// and, without results, the name of the last one is looked at. The exits, which are in the order of
// the source, are told where the first of their two stands.
func split(fset *token.FileSet, source []byte, exits []*exit) []byte {
	offset := func(p token.Pos) int { return fset.Position(p).Offset }
	var out bytes.Buffer
	var emit func(from, to int, exits []*exit)
	emit = func(from, to int, exits []*exit) {
		for i := 0; i < len(exits); {
			e := exits[i]
			begin, end := offset(e.statement.Pos()), offset(e.statement.End())
			var inner []*exit // of function literals among its results
			for i++; i < len(exits) && offset(exits[i].statement.Pos()) < end; i++ {
				inner = append(inner, exits[i])
			}
			out.Write(source[from:begin])
			from = end
			kinds, names := results(fset, source, e.signature)
			mark := e.mark()
			if len(e.statement.Results) == 0 {
				fmt.Fprintf(&out, "if %s != %s { %s return } else { return }", names[len(names)-1], ok(e.signature), mark)
				continue
			}
			taken := make([]string, len(kinds))
			for j := range taken {
				taken[j] = fmt.Sprintf("result%d", j)
			}
			list := strings.Join(taken, ", ")
			fmt.Fprintf(&out, "if %s := func() (%s) { ", list, strings.Join(kinds, ", "))
			emit(begin, end, inner)
			fmt.Fprintf(&out, " }(); %s != %s { %s return %s } else { return %s }", taken[len(taken)-1], ok(e.signature), mark, list, list)
		}
		out.Write(source[from:to])
	}
	emit(0, len(source), exits)
	for _, e := range exits {
		e.taken = placeOf(out.Bytes(), bytes.Index(out.Bytes(), []byte(e.mark())))
	}
	return out.Bytes()
}

// mark stands, as a comment, before the return of an error in the source that was split.
func (e *exit) mark() string { return fmt.Sprintf("/* exit %d */", e.statement.Pos()) }

// results are the types and the names of a function's results, one by one.
func results(fset *token.FileSet, source []byte, signature *ast.FuncType) (kinds, names []string) {
	for _, field := range signature.Results.List {
		kind := string(source[fset.Position(field.Type.Pos()).Offset:fset.Position(field.Type.End()).Offset])
		for _, name := range field.Names {
			kinds, names = append(kinds, kind), append(names, name.Name)
		}
		if len(field.Names) == 0 {
			kinds = append(kinds, kind)
		}
	}
	return kinds, names
}

// place is a line and a column, in bytes from 1.
type place struct{ line, column int }

func placeOf(source []byte, offset int) place {
	before := source[:offset]
	return place{bytes.Count(before, []byte("\n")) + 1, offset - bytes.LastIndexByte(before, '\n')}
}

func (p place) before(q place) bool {
	return p.line < q.line || p.line == q.line && p.column < q.column
}
