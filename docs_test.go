package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// pages returns the Markdown pages by their paths.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := make(map[string]string)
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/model/*.md", "deploy/mixin/*.md"} {
		paths := must.Get(filepath.Glob(pattern))(t)
		for _, path := range paths {
			found[path] = readFile(t, path)
		}
	}
	return found
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	b := must.Get(os.ReadFile(path))(t)
	return string(b)
}

func TestREADMEHasTheFiguresOfTheBenchmarks(t *testing.T) {
	_, table, _ := strings.Cut(readFile(t, "README.md"), "\n## Five figures\n")
	table, _, _ = strings.Cut(table, "\n## ")
	figure := regexp.MustCompile(`\d[\d,.]*(?:/s| ms)`)
	measured := map[string]bool{}
	for _, f := range figure.FindAllString(readFile(t, filepath.Join("docs", "benchmarks.md")), -1) {
		measured[f] = true
	}
	n := 0
	for _, cells := range regexp.MustCompile(`(?m)^\| [^|]*\|(.*)$`).FindAllStringSubmatch(table, -1) {
		for _, f := range figure.FindAllString(cells[1], -1) {
			if n++; !measured[f] {
				t.Errorf("README.md has the figure %s, docs/benchmarks.md does not", f)
			}
		}
	}
	if n != 8 {
		t.Errorf("README.md's table has %d figures, 8 are wanted", n)
	}
}

var (
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func TestDocsLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for path, page := range all {
		for _, m := range link.FindAllStringSubmatch(page, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads nowhere: %v", path, m[1], err)
			} else if anchor != "" && !anchors(all[target])[anchor] {
				t.Errorf("%s: the link %s leads to no heading of %s", path, m[1], target)
			}
		}
	}
}

// anchors returns the anchors of a page's headings as GitHub makes them.
func anchors(page string) map[string]bool {
	found := make(map[string]bool)
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		found[strings.ReplaceAll(noAnchor.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-")] = true
	}
	return found
}

// Each thing that is not promised has a test that shows why, and each such test a thing that it is
// for.
func TestWhatIsNotPromisedIsShown(t *testing.T) {
	page := readFile(t, filepath.Join("docs", "guarantees.md"))
	_, list, _ := strings.Cut(page, "\n## What is not promised\n")
	list, _, _ = strings.Cut(list, "\n## ")
	lines := strings.Split(list, "\n* ")[1:]
	if len(lines) < 5 {
		t.Fatalf("docs/guarantees.md lists %d things that are not promised; is the heading another one?", len(lines))
	}
	name := regexp.MustCompile(`\bTest\w+`)
	tests := map[string]bool{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		for _, m := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(readFile(t, path), -1) {
			tests[m[1]] = true
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range lines {
		named := name.FindAllString(line, -1)
		if len(named) == 0 {
			t.Errorf("no test is named that shows why this is not promised: %.60q", line)
		}
		for _, n := range named {
			if !tests[n] {
				t.Errorf("docs/guarantees.md names %s, and there is no such test", n)
			}
		}
	}
	for test := range tests {
		if strings.HasPrefix(test, "TestNotPromised") && !strings.Contains(list, test) {
			t.Errorf("docs/guarantees.md does not say what %s shows", test)
		}
	}
}

var (
	row       = regexp.MustCompile("(?m)^\\| `([^`]+)` \\|")
	complaint = regexp.MustCompile(`\.(?:Warn|Error)\("([^"]+)"`)
)

// A message that the code has and the page has not would leave its reader without a next step.
func TestDocsHaveEveryWarningOfTheDaemon(t *testing.T) {
	_, page, found := strings.Cut(readFile(t, "docs/operations.md"), "\n## Log messages\n")
	if !found {
		t.Fatal("docs/operations.md has no section Log messages")
	}
	source := goSource(t, "daemon") + goSource(t, "coord") + goSource(t, "generator") + goSource(t, "cli")
	var rows []string
	for _, m := range row.FindAllStringSubmatch(page, -1) {
		rows = append(rows, m[1])
		if !strings.Contains(source, m[1]) {
			t.Errorf("docs/operations.md has the message %q, the code does not", m[1])
		}
	}
	for _, m := range complaint.FindAllStringSubmatch(source, -1) {
		described := false
		for _, r := range rows {
			described = described || strings.HasPrefix(m[1], r)
		}
		if !described {
			t.Errorf("the code logs %q, docs/operations.md does not say what to do then", m[1])
		}
	}
}

// goSource returns the production code below a directory, without the kits of its tests.
func goSource(t *testing.T, root string) string {
	t.Helper()
	var text bytes.Buffer
	must.Do(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "testdata" || strings.HasSuffix(entry.Name(), "test")):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		b, err := os.ReadFile(path)
		text.Write(b)
		return err
	}))
	return text.String()
}
