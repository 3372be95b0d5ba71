package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// compiler checks whether broken source still compiles. It checks types against the compiled
// packages of the unbroken source, so a patch takes milliseconds and not a build.
type compiler struct {
	root   string
	of     map[string]built // by the folder, from root
	fset   *token.FileSet
	others types.Importer
	parsed map[parsed]*ast.File
}

// parsed is a file that is not broken, with or without its functions.
type parsed struct {
	path    string
	without bool
}

// built is one package, as `go list` says it.
type built struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// newCompiler compiles the source in root, with build tags.
func newCompiler(ctx context.Context, root string, tags string) (*compiler, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	// With the flags of what is released, so that little is compiled for this alone.
	list := exec.CommandContext(ctx, "go", "list", "-export", "-deps", "-trimpath", "-tags", "urfave_cli_no_docs,grpcnotrace,"+tags,
		"-json=ImportPath,Dir,Export,GoFiles", "./...")
	list.Dir, list.Stderr, list.Env = root, os.Stderr, append(os.Environ(), "CGO_ENABLED=0")
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("the source in %s does not compile: %w", root, err)
	}
	c := &compiler{root: root, of: map[string]built{}, fset: token.NewFileSet(), parsed: map[parsed]*ast.File{}}
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var b built
		switch err := d.Decode(&b); {
		case errors.Is(err, io.EOF):
			c.others = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
			return c, nil
		case err != nil:
			return nil, err
		}
		exports[b.ImportPath] = b.Export
		if dir, err := filepath.Rel(root, b.Dir); err == nil && filepath.IsLocal(dir) {
			c.of[dir] = b
		}
	}
}

// Check returns nil if each package that the patch touches compiles with it.
func (c *compiler) Check(ctx context.Context, t mutant) (err error) {
	touched, err := t.files()
	if err != nil {
		return err
	}
	broken, err := os.MkdirTemp("", "flakeward-compile-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(broken)) }()
	dirs := map[string]bool{}
	for _, name := range touched {
		text, err := os.ReadFile(filepath.Join(c.root, name))
		if err != nil {
			return fmt.Errorf("%s: %w (%w)", t.Name, errStale, err)
		}
		dirs[filepath.Dir(name)] = true
		if err := os.MkdirAll(filepath.Join(broken, filepath.Dir(name)), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(broken, name), text, 0o600); err != nil {
			return err
		}
	}
	if err := t.Apply(ctx, broken); err != nil {
		return err
	}
	for dir := range maps.Keys(dirs) {
		if err := c.check(dir, broken, touched); err != nil {
			return fmt.Errorf("%s does not compile: %w", t.Name, err)
		}
	}
	return nil
}

// check checks the types of one package, of whose files those that were touched are below broken.
// If they differ within functions alone, the functions of the other files are left out: no type in
// them can change.
func (c *compiler) check(dir, broken string, touched []string) error {
	b, ok := c.of[dir]
	if !ok {
		return fmt.Errorf("there is no package in %s", dir)
	}
	changed := map[string]*ast.File{}
	within := true
	for _, name := range b.GoFiles {
		if name := filepath.Join(dir, name); slices.Contains(touched, name) {
			_, before, err := c.outside(filepath.Join(c.root, name))
			if err != nil {
				return err
			}
			is, after, err := c.outside(filepath.Join(broken, name))
			if err != nil {
				return err
			}
			changed[name], within = is, within && before == after
		}
	}
	var files []*ast.File
	for _, name := range b.GoFiles {
		name := filepath.Join(dir, name)
		f := changed[name]
		if f == nil {
			var err error
			if f, err = c.parse(filepath.Join(c.root, name), within); err != nil {
				return err
			}
		}
		files = append(files, f)
	}
	var wrong error
	config := types.Config{Importer: c.others, Error: func(err error) {
		// An import may be for functions that are left out.
		if e := (types.Error{}); wrong == nil && !(within && errors.As(err, &e) && e.Soft && strings.HasPrefix(c.fset.Position(e.Pos).Filename, c.root)) {
			wrong = err
		}
	}}
	_, _ = config.Check(b.ImportPath, c.fset, files, nil) // its error is the first of those
	return wrong
}

// outside parses a file, and returns it with its text outside of functions.
func (c *compiler) outside(path string) (f *ast.File, text string, err error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, "", err
	}
	if f, err = parser.ParseFile(c.fset, path, source, parser.SkipObjectResolution); err != nil {
		return nil, "", err
	}
	at := 0
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && d.Body != nil {
			text += string(source[at:c.fset.Position(d.Body.Pos()).Offset])
			at = c.fset.Position(d.Body.End()).Offset
		}
	}
	return f, text + string(source[at:]), nil
}

// parse parses a file that is not broken, once with its functions and once without.
func (c *compiler) parse(path string, without bool) (*ast.File, error) {
	key := parsed{path, without}
	if f := c.parsed[key]; f != nil {
		return f, nil
	}
	f, err := parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	for _, d := range f.Decls {
		if d, ok := d.(*ast.FuncDecl); ok && without {
			d.Body = nil
		}
	}
	c.parsed[key] = f
	return f, nil
}

// files are those that the patch touches, from the root of the source.
func (t mutant) files() (names []string, err error) {
	text, err := os.ReadFile(t.Path)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "+++ b/"); ok {
			names = append(names, name)
		}
	}
	return names, nil
}
