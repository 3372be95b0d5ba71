package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// tags are those that fuzz targets are behind. They do not exclude each other.
const tags = "drill,e2e"

// pkg is a package with fuzz targets.
type pkg struct {
	path, dir string
	targets   []string
}

// fuzzFunction is the beginning of a target, as gofmt writes it.
var fuzzFunction = regexp.MustCompile(`(?m)^func (Fuzz\w*)\(\w+ \*testing\.F\)`)

// targets finds the fuzz targets of packages, those with the most dependencies first. None at all
// is an error: a pattern was wrong.
func targets(ctx context.Context, patterns []string) ([]pkg, error) {
	const form = "{{.ImportPath}}\t{{.Dir}}\t{{len .Deps}}\t{{range .TestGoFiles}}{{.}} {{end}}{{range .XTestGoFiles}}{{.}} {{end}}"
	listed, err := output(ctx, append([]string{"list", "-tags", tags, "-f", form}, patterns...)...)
	if err != nil {
		return nil, err
	}
	type weighed struct {
		pkg
		weight int
	}
	var found []weighed
	for line := range strings.Lines(listed) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 4 {
			return nil, fmt.Errorf("go list says %q", line)
		}
		p := weighed{pkg: pkg{path: fields[0], dir: fields[1]}}
		if _, err := fmt.Sscan(fields[2], &p.weight); err != nil {
			return nil, fmt.Errorf("go list says %q: %w", line, err)
		}
		for _, file := range strings.Fields(fields[3]) {
			source, err := os.ReadFile(filepath.Join(p.dir, file))
			if err != nil {
				return nil, err
			}
			for _, m := range fuzzFunction.FindAllSubmatch(source, -1) {
				p.targets = append(p.targets, string(m[1]))
			}
		}
		if len(p.targets) > 0 {
			found = append(found, p)
		}
	}
	if len(found) == 0 {
		return nil, fmt.Errorf("there are no fuzz targets in %s", strings.Join(patterns, " "))
	}
	slices.SortStableFunc(found, func(a, b weighed) int { return b.weight - a.weight })
	packages := make([]pkg, len(found))
	for i, p := range found {
		packages[i] = p.pkg
	}
	return packages, nil
}

// output is what the go command prints.
func output(ctx context.Context, args ...string) (string, error) {
	c := command(ctx, "go", args...)
	c.Stderr = os.Stderr
	b, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w", args[0], err)
	}
	return string(b), nil
}
