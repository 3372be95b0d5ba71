package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/e2e/bench/redisbench"
	"github.com/flakeward/flakeward/e2e/bench/report"
)

// section is a group of figures that can be measured by itself.
type section struct {
	name, about string
	needs       []string // programs
	measure     func(context.Context, setting) (report.Findings, error)
}

// sections is everything that is measured, in the table's order.
var sections = []section{
	{"start", "from the start of the process to the first ID", nil, measureStarts},
	{"socket", "single IDs over the socket, next to Redis", []string{redisbench.Server, redisbench.Program}, measureSocket},
	{"http", "single IDs over HTTP, next to a constant from the same library", nil, measureWeb},
	{"grpc", "calls and streams of gRPC, next to an echo from the same library", nil, measureGRPC},
	{"open", "latency of single IDs at a fixed rate, next to Redis", []string{redisbench.Server}, measureOpen},
	{"idle", "connections that do nothing, next to Redis", []string{redisbench.Server, redisbench.Program}, measureIdle},
	{"growth", "what a request costs as connections grow, next to Redis", []string{redisbench.Server, redisbench.Program}, measureGrowth},
	{"goclient", "the Go client, an ID a call", []string{"go"}, measureGoClient},
	{"process", "one ID a call within one process, next to libraries", nil, measureProcess},
}

// setting is where a section measures.
type setting struct {
	binary string // the daemon
	dir    string // its own, empty
	short  bool
	log    io.Writer
}

// fullRounds is how often what is compared or judged is measured, at least.
const fullRounds = 7

// rounds is how often something is repeated.
func (s setting) rounds(long, short int) int {
	if s.short {
		return short
	}
	return long
}

// length is how long a round is.
func (s setting) length(long time.Duration) time.Duration {
	if s.short {
		return long / 4
	}
	return long
}

// tooFew names the figures that are compared or judged on fewer samples than fullRounds.
func tooFew(figures []report.Figure) error {
	var errs []error
	for _, f := range figures {
		n := len(f.Ours)
		compared := f.Target != nil || n > 0 && len(f.Theirs) > 0
		if compared && f.Absent == "" && n < fullRounds {
			errs = append(errs, fmt.Errorf("%s, %s: measured in %s, which is too few to compare or judge", f.Group, f.What, plural(n, "round")))
		}
	}
	return errors.Join(errs...)
}

// plural is a count and its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
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
	redisbench.Server:  "redis-server",
	redisbench.Program: "redis-tools",
	"go":               "golang",
}

// missing says what to install for the section.
func (s section) missing() (all []string) {
	for _, program := range s.needs {
		if _, err := exec.LookPath(program); err != nil {
			all = append(all, fmt.Sprintf("%s (Debian, Ubuntu: apt-get install %s)", program, debian[program]))
		}
	}
	return all
}
