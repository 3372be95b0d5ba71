package main

import (
	"fmt"
	"slices"
	"strings"
)

// Where the patches are, from the root of the source.
const (
	patches      = "sim/mutants/patches"
	drillPatches = "e2e/mutants"
)

// Who can find a break.
const (
	bySim   = "sim"
	byTests = "tests"
)

// broken is one way to break flakeward. The zero value is the source as it is.
type broken struct {
	mutant
	suites   []suite
	must     []string // who must find it
	recovers bool
}

// suite is the tests of some packages.
type suite struct {
	run      string // a regular expression; empty: all
	packages []string
}

func load(dir string, names []string) ([]broken, error) {
	found, err := loadPatches(dir, names, []string{"Tests", "Found"}, []string{"Recover"})
	if err != nil {
		return nil, err
	}
	var all []broken
	for _, t := range found {
		b := broken{mutant: t, must: t.Words("Found"), recovers: t.Has("Recover")}
		for _, who := range b.must {
			if who != bySim && who != byTests {
				return nil, fmt.Errorf("the head of %s has it found by %q: there are %s and %s", t.Path, who, bySim, byTests)
			}
		}
		for _, word := range t.Words("Tests") {
			b.add(word)
		}
		all = append(all, b)
	}
	return all, nil
}

// loadDrilled reads those that drills must find.
func loadDrilled(dir string, names []string) (all []broken, err error) {
	found, err := loadPatches(dir, names, []string{"Drills"}, nil)
	for _, t := range found {
		all = append(all, broken{mutant: t})
	}
	return all, err
}

// add adds a word of the line of tests: ./package or ./package:REGEXP.
func (b *broken) add(word string) {
	name, run, _ := strings.Cut(word, ":")
	for i, s := range b.suites {
		if s.run == run {
			if !slices.Contains(s.packages, name) {
				b.suites[i].packages = append(s.packages, name)
			}
			return
		}
	}
	b.suites = append(b.suites, suite{run: run, packages: []string{name}})
}

// whole is the source as it is, with all that is asked of the mutants.
func whole(mutants []broken) broken {
	w := broken{mutant: mutant{Name: "the source as it is"}}
	for _, b := range mutants {
		w.recovers = w.recovers || b.recovers
		for _, word := range b.Words("Tests") {
			w.add(word)
		}
	}
	return w
}
