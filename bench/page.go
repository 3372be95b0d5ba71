package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/flakeward/flakeward/bench/draw"
	"github.com/flakeward/flakeward/bench/report"
)

// page is where the results and what is made of them are kept: benchmarks.md in a directory, and
// the rest in benchmarks below it.
type page string

// plotsDir is the directory of the plots and results, as the page links to it.
const plotsDir = "benchmarks"

func (p page) file(name string) string { return filepath.Join(string(p), plotsDir, name) }

// itself is the page's own file.
func (p page) itself() string { return filepath.Join(string(p), "benchmarks.md") }

func (p page) results() string { return p.file("results.json") }

// prepare makes the directories, so that a long measurement does not end with nowhere to write.
func (p page) prepare() error {
	if _, err := os.Stat(string(p)); err != nil {
		return fmt.Errorf("the page cannot be written there: %w: run this at the root of the module, or give another directory with -out", err)
	}
	return os.MkdirAll(filepath.Join(string(p), plotsDir), 0o755)
}

// write writes the results, the plots and the page, and removes plots that are no more.
func (p page) write(r report.Results) error {
	encoded, err := r.Encode()
	if err != nil {
		return err
	}
	if err := report.Write(p.results(), encoded); err != nil {
		return err
	}
	return p.render(r)
}

// render writes the plots and the page.
func (p page) render(r report.Results) error {
	var drawn []string
	for _, one := range r.Plots() {
		svg, err := draw.SVG(one)
		if err != nil {
			return err
		}
		if err := report.Write(p.file(one.Name+".svg"), svg); err != nil {
			return err
		}
		drawn = append(drawn, p.file(one.Name+".svg"))
	}
	there, err := filepath.Glob(p.file("*.svg"))
	if err != nil {
		return err
	}
	for _, old := range there {
		if slices.Contains(drawn, old) {
			continue
		}
		if err := os.Remove(old); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return report.Write(p.itself(), r.Markdown(plotsDir))
}
