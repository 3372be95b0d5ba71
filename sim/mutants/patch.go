package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one way to break flakeward. Its head is the patch's first lines, each after a #: the
// sentence `Breaks ...`, and `Key: word word` or `Key` alone.
type mutant struct {
	Name   string
	Path   string // of the patch, absolute
	Breaks string // one sentence
	words  map[string][]string
}

// Words are those that the head has after a key.
func (t mutant) Words(key string) []string { return t.words[key] }

// Has reports whether the head has a key.
func (t mutant) Has(key string) bool {
	_, ok := t.words[key]
	return ok
}

// loadPatches reads the patches of the names in dir, or all of them. Their heads have all keys of
// must, each with words, and no others but those of may.
func loadPatches(dir string, names, must, may []string) ([]mutant, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []mutant
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".patch")
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		t, err := read(name, path)
		if err == nil {
			err = t.check(must, may)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(t mutant) bool { return t.Name == name }) {
			return nil, fmt.Errorf("there is no %s.patch in %s", name, dir)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no patch in %s: run it from the root of the source", dir)
	}
	return all, nil
}

// read reads the head of a patch.
func read(name, path string) (mutant, error) {
	f, err := os.Open(path)
	if err != nil {
		return mutant{}, err
	}
	defer f.Close() // it was only read
	t := mutant{Name: name, Path: path, words: map[string][]string{}}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line, ok := strings.CutPrefix(lines.Text(), "# ")
		if !ok {
			break
		}
		if breaks, ok := strings.CutPrefix(line, "Breaks "); ok {
			t.Breaks = breaks
			continue
		}
		key, words, _ := strings.Cut(line, ":")
		t.words[key] = strings.Fields(words)
	}
	return t, lines.Err()
}

func (t mutant) check(must, may []string) error {
	if t.Breaks == "" {
		return fmt.Errorf("%s does not begin with a line %q", t.Path, "# Breaks ...")
	}
	for _, key := range must {
		if len(t.words[key]) == 0 {
			return fmt.Errorf("the head of %s has no line %q", t.Path, "# "+key+": ...")
		}
	}
	for key := range t.words {
		if !slices.Contains(must, key) && !slices.Contains(may, key) {
			return fmt.Errorf("the head of %s has a line %q, which nobody reads: there are %s", t.Path, "# "+key, strings.Join(slices.Concat(must, may), ", "))
		}
	}
	return nil
}

// errStale means that a patch does not fit the source any more.
var errStale = errors.New("it does not fit the source any more: make it anew")

// Apply breaks the source in dir, which is to be a copy.
func (t mutant) Apply(ctx context.Context, dir string) error { return t.git(ctx, dir) }

// Undo mends what Apply broke.
func (t mutant) Undo(ctx context.Context, dir string) error { return t.git(ctx, dir, "--reverse") }

func (t mutant) git(ctx context.Context, dir string, flags ...string) error {
	c := exec.CommandContext(ctx, "git", slices.Concat([]string{"apply"}, flags, []string{t.Path})...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w (%w)\n%s", t.Name, errStale, err, out)
	}
	return nil
}

// copySource copies the source in root to the folder to: what git tracks there, unless it was
// deleted, and what it would.
func copySource(ctx context.Context, root, to string) error {
	ls := exec.CommandContext(ctx, "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	ls.Dir = root
	listed, err := ls.Output()
	if err != nil {
		return fmt.Errorf("the source in %s cannot be listed: %w", root, err)
	}
	var there strings.Builder
	for name := range strings.SplitSeq(strings.TrimSuffix(string(listed), "\x00"), "\x00") {
		if _, err := os.Lstat(filepath.Join(root, name)); err == nil {
			there.WriteString(name + "\x00")
		}
	}
	cp := exec.CommandContext(ctx, "xargs", "-0", "cp", "--parents", "-t", to)
	cp.Dir, cp.Stdin = root, strings.NewReader(there.String())
	if out, err := cp.CombinedOutput(); err != nil {
		return fmt.Errorf("the source in %s cannot be copied: %w\n%s", root, err, out)
	}
	return nil
}
