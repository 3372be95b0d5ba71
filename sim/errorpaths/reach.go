package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/types"
	"slices"
)

// checked is a package with its types.
type checked struct {
	files []*ast.File
	pkg   *types.Package
	info  *types.Info
}

// function is one that is declared in a package.
type function struct {
	name string // Coordinator.Claim, decode
	*ast.FuncDecl
}

// reach returns the functions of the package that roots lead to, in the order of the source:
// whatever a function names it may call. A call through an interface leads to the methods of all
// types of the package that have them, except for the types that are elsewhere: what is simulated
// has something else in their place.
func (c checked) reach(roots []string, elsewhere []string) ([]function, error) {
	declared := map[*types.Func]function{}
	named := map[string]*types.Func{}
	for _, file := range c.files {
		for _, d := range file.Decls {
			if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
				f := c.info.Defs[d.Name].(*types.Func)
				declared[f] = function{nameOf(f), d}
				named[nameOf(f)] = f
			}
		}
	}
	for _, name := range elsewhere {
		if c.pkg.Scope().Lookup(name) == nil {
			return nil, fmt.Errorf("%s has no type %s that could be elsewhere", c.pkg.Path(), name)
		}
	}
	seen := map[*types.Func]bool{}
	var visit func(f *types.Func)
	visit = func(f *types.Func) {
		d, ok := declared[f.Origin()]
		if !ok || seen[f.Origin()] {
			return
		}
		seen[f.Origin()] = true
		ast.Inspect(d.Body, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				if s, ok := c.info.Selections[n]; ok && s.Kind() == types.MethodVal {
					for _, method := range c.behind(s) {
						if !slices.Contains(elsewhere, typeOf(method)) {
							visit(method)
						}
					}
				}
			case *ast.Ident:
				if named, ok := c.info.Uses[n].(*types.Func); ok {
					visit(named)
				}
			}
			return true
		})
	}
	for _, root := range roots {
		f, ok := named[root]
		if !ok {
			return nil, fmt.Errorf("%s has no function %s", c.pkg.Path(), root)
		}
		visit(f)
	}
	var found []function
	for f := range seen {
		found = append(found, declared[f])
	}
	slices.SortFunc(found, func(a, b function) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return found, nil
}

// behind returns the methods of the package that a method of an interface may be.
func (c checked) behind(s *types.Selection) []*types.Func {
	wanted, ok := s.Recv().Underlying().(*types.Interface)
	if !ok {
		return nil
	}
	var methods []*types.Func
	for _, name := range c.pkg.Scope().Names() {
		t, ok := c.pkg.Scope().Lookup(name).(*types.TypeName)
		if !ok || types.IsInterface(t.Type()) || !types.Implements(types.NewPointer(t.Type()), wanted) {
			continue
		}
		found, _, _ := types.LookupFieldOrMethod(t.Type(), true, c.pkg, s.Obj().Name())
		if m, ok := found.(*types.Func); ok {
			methods = append(methods, m)
		}
	}
	return methods
}

// typeOf is the name of the type that a method belongs to; empty for a function.
func typeOf(f *types.Func) string {
	receiver := f.Signature().Recv()
	if receiver == nil {
		return ""
	}
	t := receiver.Type()
	if p, ok := t.(*types.Pointer); ok {
		t = p.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj().Name()
	}
	return ""
}

func nameOf(f *types.Func) string {
	if t := typeOf(f); t != "" {
		return t + "." + f.Name()
	}
	return f.Name()
}
