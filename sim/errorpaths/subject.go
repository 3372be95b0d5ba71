package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/token"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// subject is a program, and what of it is looked at.
type subject struct {
	module  string // the program's
	program string // below the module
	tables  []table
}

// found is a table with what was found.
type found struct {
	table
	rows []row
}

// row is a function with its exits.
type row struct {
	function string
	file     string // import path and file name
	line     int
	exits    []*exit
}

// measure runs the program with arguments and counts how often each exit was taken with an error.
// The module is the one that dir is in; the copy that is built, and the profile, go to work. The
// program may fail and be measured all the same.
func (s subject) measure(dir, work string, out io.Writer, args ...string) ([]found, error) {
	all, err := list(dir, s.module+"/"+s.program)
	if err != nil {
		return nil, err
	}
	tables, replaced, err := s.examine(all)
	if err != nil {
		return nil, err
	}
	if err := transplant(work, all, replaced); err != nil {
		return nil, err
	}
	profile, failed := s.run(work, out, args)
	if profile == nil {
		return nil, failed
	}
	blocks, err := readProfile(bytes.NewReader(profile))
	if err != nil {
		return nil, errors.Join(failed, err)
	}
	for _, t := range tables {
		for _, r := range t.rows {
			for _, e := range r.exits {
				if e.count, err = countAt(blocks[e.file], e.taken); err != nil {
					return nil, errors.Join(failed, fmt.Errorf("%s:%d: %w", e.file, e.line, err))
				}
			}
		}
	}
	return tables, failed
}

// examine finds what is to be taken, and returns the files in which each of those is split.
func (s subject) examine(all map[string]listed) ([]found, map[string][]byte, error) {
	fset := token.NewFileSet()
	var tables []found
	replaced := map[string][]byte{}
	for _, t := range s.tables {
		l, ok := all[s.module+"/"+t.pkg]
		if !ok {
			return nil, nil, fmt.Errorf("%s is not made of %s", s.program, t.pkg)
		}
		c, err := check(fset, l, all)
		if err != nil {
			return nil, nil, err
		}
		reached, err := c.reach(t.roots, slices.Collect(maps.Keys(t.elsewhere)))
		if err != nil {
			return nil, nil, err
		}
		f := found{table: t}
		sources, exits := map[string][]byte{}, map[string][]*exit{}
		for _, function := range reached {
			at := fset.Position(function.Pos())
			if sources[at.Filename] == nil {
				if sources[at.Filename], err = os.ReadFile(at.Filename); err != nil {
					return nil, nil, err
				}
			}
			r := row{function: function.name, file: l.ImportPath + "/" + filepath.Base(at.Filename), line: at.Line}
			r.exits = exitsOf(fset, sources[at.Filename], r.file, function)
			exits[at.Filename] = append(exits[at.Filename], r.exits...)
			f.rows = append(f.rows, r)
		}
		for name, source := range sources {
			replaced[name] = split(fset, source, exits[name])
		}
		tables = append(tables, f)
	}
	return tables, replaced, nil
}

// run builds the program with coverage, runs it, and returns the profile.
func (s subject) run(dir string, out io.Writer, args []string) ([]byte, error) {
	packages := "./" + s.program // the profile is written when the program itself ends
	for _, t := range s.tables {
		packages += ",./" + t.pkg
	}
	binary, counters, profile := filepath.Join(dir, "binary"), filepath.Join(dir, "counters"), filepath.Join(dir, "profile")
	if err := os.Mkdir(counters, 0o700); err != nil {
		return nil, err
	}
	if err := run(dir, out, nil, "go", "build", "-cover", "-covermode", "atomic", "-coverpkg", packages, "-o", binary, "./"+s.program); err != nil {
		return nil, err
	}
	failed := run(dir, out, []string{"GOCOVERDIR=" + counters}, binary, args...)
	if err := run(dir, out, nil, "go", "tool", "covdata", "textfmt", "-i", counters, "-o", profile); err != nil {
		return nil, errors.Join(failed, err)
	}
	data, err := os.ReadFile(profile)
	return data, errors.Join(failed, err)
}
