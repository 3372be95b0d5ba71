package main

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// tooth is one way to break the daemon.
type tooth struct {
	name   string
	path   string   // of the patch
	breaks string   // one sentence
	drills []string // that must find it, as -run names them after TestDrills/
}

const (
	breaksLine = "# Breaks "
	drillsLine = "# Drills: "
)

// load reads the patches of the names in dir, or all of them.
func load(dir string, names []string) ([]tooth, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.patch"))
	if err != nil {
		return nil, err
	}
	var all []tooth
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".patch")
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		t, err := read(name, path)
		if err != nil {
			return nil, err
		}
		all = append(all, t)
	}
	for _, name := range names {
		if !slices.ContainsFunc(all, func(t tooth) bool { return t.name == name }) {
			return nil, fmt.Errorf("there is no %s.patch in %s", name, dir)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there is no patch in %s: run it from the root of the source", dir)
	}
	return all, nil
}

// read reads the head of a patch.
func read(name, path string) (tooth, error) {
	f, err := os.Open(path)
	if err != nil {
		return tooth{}, err
	}
	defer f.Close() //nolint:errcheck // it was only read
	t := tooth{name: name, path: path}
	lines := bufio.NewScanner(f)
	for lines.Scan() && strings.HasPrefix(lines.Text(), "#") {
		if breaks, ok := strings.CutPrefix(lines.Text(), breaksLine); ok {
			t.breaks = breaks
		}
		if drills, ok := strings.CutPrefix(lines.Text(), drillsLine); ok {
			t.drills = strings.Fields(drills)
		}
	}
	if t.breaks == "" || len(t.drills) == 0 {
		err = fmt.Errorf("%s does not begin with a line %q and a line %q", path, breaksLine+"...", drillsLine+"...")
	}
	return t, errors.Join(err, lines.Err())
}
