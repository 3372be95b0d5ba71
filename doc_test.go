package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// TestPackageComments fails for each package of the module whose production
// files carry no comment on the package, or one that does not begin with the
// package's name as `go doc` expects it.
func TestPackageComments(t *testing.T) {
	comments := must.Get(packageComments("."))(t)
	if len(comments) < 2 {
		t.Fatalf("only %d packages found: the walk does not see the module", len(comments))
	}
	for dir, comment := range comments {
		if !strings.HasPrefix(comment.text, comment.want) {
			t.Errorf("%s: the package comment begins with %q, want %q", dir, firstLine(comment.text), comment.want)
		}
	}
}

type packageComment struct{ text, want string }

// packageComments reads the package clauses of all production files below root,
// by directory.
func packageComments(root string) (map[string]packageComment, error) {
	comments := make(map[string]packageComment)
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && path != root
			if hidden || entry.Name() == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		comment := comments[filepath.Dir(path)]
		comment.want = wantedStart(file)
		if file.Doc != nil {
			comment.text += file.Doc.Text()
		}
		comments[filepath.Dir(path)] = comment
		return nil
	})
	return comments, err
}

func wantedStart(file *ast.File) string {
	if file.Name.Name == "main" {
		return "Command "
	}
	return "Package " + file.Name.Name + " "
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
