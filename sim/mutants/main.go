// Command mutants shows that the simulation, the unit tests and the drills find bugs: it breaks
// flakeward on purpose, in one way after the other, by go's -overlay, and has them look for it.
//
//	go run ./sim/mutants [-core] [-drills] [-slice K/N] [NAME...]
//
// Each record of sim/mutants/list is one way:
//
//	## name
//	Breaks     what, in a sentence
//	Tests:     the unit tests to run: ./package, or ./package:REGEXP as go test's -run has it
//	Found:     who must find it: sim, tests, or both
//	Core       it breaks one of the four invariants; -core tries these alone
//	Recover    the runs go on without faults, and not to recover is a violation: for what only costs waiting
//	the/file.go
//	-a line that leaves
//	+a line that comes
//
// The lines must stand in the file exactly once. The source as it is goes first: what fails there
// proves nothing. The bugs of the drills are in e2e/mutants.txt, and a line `Drills: /name
// etcd/name` says which of them must find each; the images of the drills must be there. The status
// is 1 if a bug was found by nobody, or not by whom its record says.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./sim/mutants [-n SEEDS] [-core] [-drills] [-slice K/N] [NAME...], from the root of the source; a name is that of a bug in", tested, "or", drilled)
		flag.PrintDefaults()
	}
	seeds := flag.Int("n", 2500, "how many seeds the simulation has to find a bug")
	drills := flag.Bool("drills", false, "have the drills find what is broken, in containers")
	core := flag.Bool("core", false, "try the bugs alone that break one of the four invariants")
	slice := flag.String("slice", "1/1", "try the `K/N`th part of the bugs, K from 1")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	all, err := run(ctx, *seeds, *core, *drills, *slice, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !all {
		os.Exit(1)
	}
}

// run tries the bugs of the names, or a part of all, and prints what came of them. It returns
// whether all is as their records say.
func run(ctx context.Context, seeds int, core, drills bool, slice string, names []string) (all bool, err error) {
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	pattern := tested
	if drills {
		pattern = drilled
	}
	bugs, err := load(root, pattern, names)
	if err != nil {
		return false, err
	}
	if core {
		bugs = slices.DeleteFunc(bugs, func(b bug) bool { return !b.core })
	}
	var k, n int
	if _, err := fmt.Sscanf(slice, "%d/%d", &k, &n); err != nil || k < 1 || k > n {
		return false, fmt.Errorf("-slice %s: give K/N, K from 1 to N", slice)
	}
	bugs = bugs[(k-1)*len(bugs)/n : k*len(bugs)/n]
	findings, err := hunt{root: root, seeds: seeds, drills: drills}.all(ctx, bugs, os.Stderr)
	if err != nil {
		return false, err
	}
	return report(os.Stdout, seeds, findings)
}
