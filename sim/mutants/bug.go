package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Where the bugs are listed, from the root of the source: a file for each package, and one for the
// drills.
const (
	tested  = "sim/mutants/list/*.txt"
	drilled = "e2e/mutants.txt"
)

// Who can find a bug.
const (
	bySim   = "sim"
	byTests = "tests"
)

// bug is one way to break flakeward. The zero value is the source as it is.
type bug struct {
	name     string
	breaks   string // one sentence
	suites   []suite
	must     []string // who must find it
	recovers bool
	core     bool     // it breaks one of the four invariants
	drills   []string // the drills that must find it, as go test's -run names them after TestDrills/
	changes  []change
}

// suite is the tests of some packages.
type suite struct {
	run      string // a regular expression; empty: all
	packages []string
}

// change replaces some lines of a file, which stand there once.
type change struct {
	file     string // from the root of the source
	old, new string // whole lines
}

// load reads the bugs in the files that match the pattern: those of the names, or all.
func load(root, pattern string, names []string) ([]bug, error) {
	paths, err := filepath.Glob(filepath.Join(root, pattern))
	if err != nil {
		return nil, err
	}
	var all []bug
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		found, err := parse(string(text))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		all = append(all, found...)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(b bug) bool { return b.name == name }) {
			return nil, fmt.Errorf("no bug is named %s in %s", name, pattern)
		}
	}
	all = slices.DeleteFunc(all, func(b bug) bool { return len(names) > 0 && !slices.Contains(names, b.name) })
	if len(all) == 0 {
		return nil, fmt.Errorf("no bug in %s: run it from the root of the source", pattern)
	}
	return all, nil
}

// parse reads bugs. Each begins with a line `## name`. A head follows, then changes: the file's
// name alone on a line, and its lines, of which those after a minus leave, those after a plus come,
// and those after a blank stay.
func parse(text string) (all []bug, err error) {
	var b *bug
	inside := false // the lines of a change
	for i, line := range strings.Split(text, "\n") {
		wrong := func(format string, args ...any) error {
			return fmt.Errorf("line %d: %s", i+1, fmt.Sprintf(format, args...))
		}
		name, begins := strings.CutPrefix(line, "## ")
		key, words, headed := strings.Cut(line, ":")
		switch {
		case begins:
			all = append(all, bug{name: name})
			b, inside = &all[len(all)-1], false
		case b == nil || line == "":
			inside = false
		case inside && strings.ContainsRune(" +-", rune(line[0])):
			c := &b.changes[len(b.changes)-1]
			if line[0] != '+' {
				c.old += line[1:] + "\n"
			}
			if line[0] != '-' {
				c.new += line[1:] + "\n"
			}
		case filepath.Ext(line) == ".go":
			b.changes = append(b.changes, change{file: line})
			inside = true
		case strings.HasPrefix(line, "Breaks "):
			b.breaks = strings.TrimPrefix(line, "Breaks ")
		case line == "Recover":
			b.recovers = true
		case line == "Core":
			b.core = true
		case headed && key == "Tests":
			for _, word := range strings.Fields(words) {
				b.add(word)
			}
		case headed && key == "Found":
			b.must = strings.Fields(words)
		case headed && key == "Drills":
			b.drills = strings.Fields(words)
		default:
			return nil, wrong("%q is no part of a bug", line)
		}
	}
	for _, b := range all {
		if err := b.check(); err != nil {
			return nil, fmt.Errorf("bug %s: %w", b.name, err)
		}
	}
	return all, nil
}

// check returns what a bug lacks.
func (b bug) check() error {
	switch {
	case b.breaks == "":
		return errors.New("no line says what it Breaks")
	case len(b.changes) == 0:
		return errors.New("it changes nothing")
	case len(b.drills) == 0 && (len(b.suites) == 0 || len(b.must) == 0):
		return errors.New("it needs the lines Tests and Found, or the line Drills")
	}
	for _, who := range b.must {
		if who != bySim && who != byTests {
			return fmt.Errorf("found by %s: there are %s and %s", who, bySim, byTests)
		}
	}
	return nil
}

// add adds a word of the line of tests: ./package or ./package:REGEXP.
func (b *bug) add(word string) {
	name, run, _ := strings.Cut(word, ":")
	i := slices.IndexFunc(b.suites, func(s suite) bool { return s.run == run })
	if i < 0 {
		i, b.suites = len(b.suites), append(b.suites, suite{run: run})
	}
	if s := &b.suites[i]; !slices.Contains(s.packages, name) {
		s.packages = append(s.packages, name)
	}
}

// whole is the source as it is, with all that is asked of the bugs.
func whole(bugs []bug) bug {
	w := bug{name: "the source as it is"}
	for _, b := range bugs {
		w.recovers = w.recovers || b.recovers
		for _, s := range b.suites {
			for _, name := range s.packages {
				w.add(name + ":" + s.run)
			}
		}
	}
	return w
}

// errStale says that a bug does not fit the source any more.
var errStale = errors.New("its lines do not stand in the source exactly once: write it anew")

// broken returns the files that the bug changes, from the root of the source, with their new text.
func (b bug) broken(root string) (files map[string]string, err error) {
	files = map[string]string{}
	for _, c := range b.changes {
		text, ok := files[c.file]
		if !ok {
			read, err := os.ReadFile(filepath.Join(root, c.file))
			if err != nil {
				return nil, fmt.Errorf("bug %s: %w (%w)", b.name, errStale, err)
			}
			text = string(read)
		}
		// Each text begins a line, so that a line is not found in the end of another.
		before, after, found := strings.Cut("\n"+text, "\n"+c.old)
		if c.old == "" || !found || strings.Contains("\n"+after, "\n"+c.old) {
			return nil, fmt.Errorf("bug %s: %s: %w", b.name, c.file, errStale)
		}
		files[c.file] = strings.TrimPrefix(before+"\n", "\n") + c.new + after
	}
	return files, nil
}

// overlay writes what go's -overlay wants into dir, which is empty, and returns its path: nothing
// of the source is written. Without a change there is none, and the path is empty.
func (b bug) overlay(root, dir string) (string, error) {
	files, err := b.broken(root)
	if err != nil || len(files) == 0 {
		return "", err
	}
	replace := map[string]string{}
	for file, text := range files {
		to := filepath.Join(dir, strings.ReplaceAll(file, "/", "-"))
		replace[filepath.Join(root, file)] = to
		if err := os.WriteFile(to, []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	return path, os.WriteFile(path, list, 0o600)
}
