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
	parsed map[string]*ast.File // files that are not broken, by their paths
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
	c := &compiler{root: root, of: map[string]built{}, fset: token.NewFileSet(), parsed: map[string]*ast.File{}}
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
func (c *compiler) check(dir, broken string, touched []string) error {
	b, ok := c.of[dir]
	if !ok {
		return fmt.Errorf("there is no package in %s", dir)
	}
	var files []*ast.File
	for _, name := range b.GoFiles {
		from := c.root
		if slices.Contains(touched, filepath.Join(dir, name)) {
			from = broken
		}
		path := filepath.Join(from, dir, name)
		f := c.parsed[path]
		if f == nil {
			var err error
			if f, err = parser.ParseFile(c.fset, path, nil, parser.SkipObjectResolution); err != nil {
				return err
			}
		}
		if from == c.root {
			c.parsed[path] = f
		}
		files = append(files, f)
	}
	_, err := (&types.Config{Importer: c.others}).Check(b.ImportPath, c.fset, files, nil)
	return err
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
