package main

import (
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

const module = "github.com/flakeward/flakeward"

// product is what ships, as directories of the module; "." is the program itself.
var product = []string{".", "cli", "client", "clockguard", "coord", "csi", "daemon", "generator"}

// proof is what shows that the product is right. What ships imports nothing of it. A name without
// a slash is a directory anywhere.
var proof = []string{
	"audit", "e2e", "sim", "coord/coordtest", "etcdtest", "zktest", "clocktest", "csitest", "csi/sanity", "internal/fault/inject",
	"internal/certtest", "internal/faultproxy", "internal/isolated", "internal/logtest", "internal/must", "internal/need", "internal/port", "internal/process", "internal/sockettest", "daemontest",
}

// ofProof reports whether a package, by its path below the module, is a part of the proof.
func ofProof(pkg string) bool {
	return slices.ContainsFunc(proof, func(p string) bool {
		return under(pkg, p) || !strings.Contains(p, "/") && slices.Contains(strings.Split(pkg, "/"), p)
	})
}

// under reports whether a path is a directory or lies in it.
func under(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// ofProduct reports whether a package belongs to what ships, on the face of its path.
func ofProduct(pkg string) bool {
	return !ofProof(pkg) && slices.ContainsFunc(product, func(p string) bool { return under(pkg, p) })
}

// source is one production file, and the packages of this module that it imports.
type source struct {
	path    string
	imports []string
}

// sources reads the production files below root by their package, whatever tags they are behind.
func sources(root string) (map[string][]source, error) {
	all := map[string][]source{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasPrefix(entry.Name(), ".") && path != root):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		s := source{path: path}
		for _, i := range file.Imports {
			name, err := strconv.Unquote(i.Path.Value)
			if err != nil {
				return err
			}
			if below, ours := strings.CutPrefix(name, module+"/"); ours {
				s.imports = append(s.imports, below)
			}
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		all[filepath.ToSlash(pkg)] = append(all[filepath.ToSlash(pkg)], s)
		return err
	})
	return all, err
}

// crossings are the files of the product that import what is proof. The product's packages count,
// and whatever they import in turn.
func crossings(all map[string][]source) (found []string) {
	seen := map[string]bool{}
	var visit func(pkg string)
	visit = func(pkg string) {
		if seen[pkg] {
			return
		}
		seen[pkg] = true
		for _, s := range all[pkg] {
			for _, i := range s.imports {
				if ofProof(i) {
					found = append(found, s.path+" imports "+i)
				} else {
					visit(i)
				}
			}
		}
	}
	for _, pkg := range slices.Sorted(maps.Keys(all)) {
		if ofProduct(pkg) {
			visit(pkg)
		}
	}
	return found
}

// TestBorder: what ships imports nothing of what proves.
func TestBorder(t *testing.T) {
	all := must.Get(sources("."))(t)
	for _, pkg := range append([]string{"coord/etcd"}, product...) {
		if len(all[pkg]) == 0 {
			t.Errorf("no file of %s was found: the walk does not see the module", pkg)
		}
	}
	for _, crossing := range crossings(all) {
		t.Errorf("%s: what ships must not need what proves it; hand it in from a test or a drill", crossing)
	}
}

// TestBorderIsWatched: an import across the border is found, whatever file and tag it is behind.
func TestBorderIsWatched(t *testing.T) {
	for _, tt := range []struct{ pkg, imports, text string }{
		{"daemon/grant", "audit/evidence", ""},
		{"coord/etcd", "coord/etcd/etcdtest", ""},
		{"coord/zk", "coord/zk/zktest/zkserver", "//go:build windows\n\n"},
		{"generator", "internal/fault/inject", "//go:build drill\n\n"},
		{"internal/tsc", "sim/clocks", ""}, // which the product imports
		{".", "audit/record", "//go:build drill\n\n"},
		{".", "internal/fault/inject", "//go:build drill\n\n"},
		{"clockguard", "clockguard/clocktest", "//go:build e2e\n\n"},
		{"cli", "e2e/bench/rounds", "//go:build drill || linux\n\n"},
	} {
		root := t.TempDir()
		plant(t, root, "client/client.go", "package client\n\nimport _ \""+module+"/internal/tsc\"\n")
		plant(t, root, "internal/tsc/age.go", "package age\n")
		plant(t, root, filepath.Join(tt.pkg, "planted.go"), tt.text+"package planted\n\nimport _ \""+module+"/"+tt.imports+"\"\n")
		all := must.Get(sources(root))(t)
		if found := crossings(all); len(found) != 1 || !strings.Contains(found[0], tt.imports) {
			t.Errorf("%s importing %s was found as %q", tt.pkg, tt.imports, found)
		}
	}
}

func plant(t *testing.T, root, path, text string) {
	t.Helper()
	path = filepath.Join(root, path)
	must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Do(t, os.WriteFile(path, []byte(text), 0o600))
}
