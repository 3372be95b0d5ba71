// Command mutants shows that the simulation, the unit tests and the drills find bugs: it breaks
// flakeward on purpose, in one way after the other, in copies of the source that are thrown away,
// has the simulation run seeds until one shows a violation, where it must find that break, and runs the
// unit tests near the broken line; or, with -drills, the drills.
//
//	go run ./sim/mutants [-drills] [NAME...]
//
// Each patch in sim/mutants/patches is one way. Its head says
//
//	# Breaks     what, in a sentence
//	# Tests:     the unit tests to run: ./package, or ./package:REGEXP as go test's -run has it
//	# Found:     who must find it: sim, tests, or both
//	# Recover    the runs go on without faults, and not to recover is a violation: for what only costs waiting
//
// The source as it is goes first: what fails there proves nothing. The patches of the drills are in
// e2e/mutants, and a line `# Drills: /name etcd/name` of their heads says which of them must find
// it, as go test's -run names them after TestDrills/; the images of `make drill-images` must be
// there. It ends with status 1 if a break was found by nobody, or not by whom its head says.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	flag.Usage = func() {
		fmt.Fprintln(os.Stderr, "usage: go run ./sim/mutants [-n SEEDS] [-drills] [NAME...], from the root of the source; a name is that of a patch in", patches, "or", drillPatches)
		flag.PrintDefaults()
	}
	seeds := flag.Int("n", 2500, "how many seeds the simulation has to find a break")
	drills := flag.Bool("drills", false, "have the drills find what is broken, in containers")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	all, err := run(ctx, *seeds, *drills, flag.Args())
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
	}
	if err != nil || !all {
		os.Exit(1)
	}
}

// run tries the mutants of the names, or all, and prints what came of them. It returns whether all
// is as the heads say.
func run(ctx context.Context, seeds int, drills bool, names []string) (all bool, err error) {
	root, err := os.Getwd()
	if err != nil {
		return false, err
	}
	dir, read := patches, load
	if drills {
		dir, read = drillPatches, loadDrilled
	}
	mutants, err := read(dir, names)
	if err != nil {
		return false, err
	}
	findings, err := biteAll(ctx, copied{root: root, seeds: seeds, drills: drills}, mutants, os.Stderr)
	if err != nil {
		return false, err
	}
	return report(os.Stdout, seeds, findings)
}
