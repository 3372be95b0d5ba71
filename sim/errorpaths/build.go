package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// listed is a package as go list tells.
type listed struct {
	ImportPath, Dir, Export string
	GoFiles, SFiles         []string
	Module                  *struct {
		Dir  string
		Main bool
	}
}

// list returns a package and all that it is made of, from the directory's module.
func list(dir, pkg string) (map[string]listed, error) {
	command := exec.Command("go", "list", "-deps", "-export", "-json=ImportPath,Dir,Export,GoFiles,SFiles,Module", pkg)
	command.Dir, command.Stderr = dir, os.Stderr
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", pkg, err)
	}
	all := map[string]listed{}
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := d.Decode(&l); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list %s: %w", pkg, err)
		}
		all[l.ImportPath] = l
	}
}

// check reads a package and finds out its types; those of others are as the compiler has left them.
func check(fset *token.FileSet, l listed, all map[string]listed) (checked, error) {
	var files []*ast.File
	for _, name := range l.GoFiles {
		file, err := parser.ParseFile(fset, filepath.Join(l.Dir, name), nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return checked{}, err
		}
		files = append(files, file)
	}
	return typesOf(fset, l.ImportPath, files, importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		return os.Open(all[path].Export)
	}))
}

func typesOf(fset *token.FileSet, path string, files []*ast.File, others types.Importer) (checked, error) {
	config := types.Config{Importer: others}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{}}
	pkg, err := config.Check(path, fset, files, info)
	return checked{files, pkg, info}, err
}

// transplant copies the module's part of all to a directory, with the contents of some files
// replaced.
func transplant(to string, all map[string]listed, replaced map[string][]byte) error {
	var root string
	put := func(path string) error {
		data, ok := replaced[path]
		if !ok {
			var err error
			if data, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if err := os.MkdirAll(filepath.Dir(filepath.Join(to, relative)), 0o700); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(to, relative), data, 0o600)
	}
	for _, l := range all {
		if l.Module == nil || !l.Module.Main {
			continue
		}
		root = l.Module.Dir
		for _, name := range append(l.GoFiles, l.SFiles...) {
			if err := put(filepath.Join(l.Dir, name)); err != nil {
				return err
			}
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		if err := put(filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command in a directory.
func run(dir string, out io.Writer, env []string, name string, args ...string) error {
	command := exec.Command(name, args...)
	command.Dir, command.Stdout, command.Stderr = dir, out, os.Stderr
	command.Env = append(os.Environ(), env...)
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return nil
}

// block is a part of a file that runs as a whole, and how often it has.
type block struct {
	from, to place
	count    uint64
}

// readProfile reads a coverage profile, by file.
func readProfile(r io.Reader) (map[string][]block, error) {
	blocks := map[string][]block{}
	for s := bufio.NewScanner(r); ; {
		if !s.Scan() {
			return blocks, s.Err()
		}
		if strings.HasPrefix(s.Text(), "mode: ") {
			continue
		}
		var b block
		var statements int
		file, rest, _ := strings.Cut(s.Text(), ":")
		if _, err := fmt.Sscanf(rest, "%d.%d,%d.%d %d %d", &b.from.line, &b.from.column, &b.to.line, &b.to.column, &statements, &b.count); err != nil {
			return nil, fmt.Errorf("the coverage profile's line %q: %w", s.Text(), err)
		}
		blocks[file] = append(blocks[file], b)
	}
}

// countAt is how often what stands at a place has run.
func countAt(blocks []block, at place) (uint64, error) {
	var innermost *block
	for i, b := range blocks {
		if !at.before(b.from) && at.before(b.to) && (innermost == nil || innermost.from.before(b.from)) {
			innermost = &blocks[i]
		}
	}
	if innermost == nil {
		return 0, fmt.Errorf("the coverage profile does not have line %d, column %d", at.line, at.column)
	}
	return innermost.count, nil
}
