package main

import (
	"context"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/bench/redisbench"
)

// section is a group of figures that can be measured by itself.
type section struct {
	name, about string
	needs       []string // programs
	measure     func(context.Context, setting) ([]figure, error)
}

// sections is everything that is measured, in the table's order.
var sections = []section{
	{"start", "from the start of the process to the first ID", nil, measureStarts},
	{"socket", "single IDs over the socket, next to Redis", []string{redisServer, redisbench.Program}, measureSocket},
	{"client", "one client that asks for many IDs at once", nil, measureClient},
	{"memory", "memory under that client", nil, measureMemory},
	{"lane", "the generator alone, within one process", []string{"go"}, measureLane},
}

// setting is where a section measures.
type setting struct {
	binary string // the daemon
	dir    string // its own, empty
	short  bool
	log    io.Writer
}

// rounds is how often something is repeated.
func (s setting) rounds(long, short int) int {
	if s.short {
		return short
	}
	return long
}

func names(sections []section) []string {
	var all []string
	for _, s := range sections {
		all = append(all, s.name)
	}
	return all
}

// choose picks the sections that are named in a list separated by commas, and all for "".
func choose(from []section, list string) ([]section, error) {
	if list == "" {
		return from, nil
	}
	wanted := strings.Split(list, ",")
	for _, name := range wanted {
		if !slices.Contains(names(from), name) {
			return nil, fmt.Errorf("-only %s: there is no %q, only %s", list, name, strings.Join(names(from), ", "))
		}
	}
	return slices.DeleteFunc(slices.Clone(from), func(s section) bool { return !slices.Contains(wanted, s.name) }), nil
}

// debian is the Debian package of a program that may be missing.
var debian = map[string]string{
	redisServer:        "redis-server",
	redisbench.Program: "redis-tools",
	"go":               "golang",
}

// installed returns an error that says what to install for the sections.
func installed(chosen []section) error {
	for _, s := range chosen {
		for _, program := range s.needs {
			if _, err := exec.LookPath(program); err != nil {
				return fmt.Errorf("%q needs %s (%w): install it (Debian, Ubuntu: apt-get install %s) or measure something else with -only", s.name, program, err, debian[program])
			}
		}
	}
	return nil
}
