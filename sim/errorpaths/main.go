// Command errorpaths shows that the simulation takes every error return of the code that claims,
// extends and gives back worker IDs and that keeps the journal: each return statement that may
// return an error, in a function that Claim, Extend, Release, Read or Write leads to within its
// package, has returned one.
//
//	go run ./sim/errorpaths                  seeds 1 to 2000
//	go run ./sim/errorpaths -from 5000 -n 100
//
// Coverage of statements cannot tell the error that a statement returns from the nil that it
// returns at other times. So each such statement is split in two, in a copy of the source, before
// that is built with coverage. The numbers are of returned errors alone.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := measure(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "errorpaths:", err)
		os.Exit(1)
	}
}

// table is a package, and which of its functions are looked at.
type table struct {
	pkg        string // below the module
	title      string
	roots      []string             // these, and all that they lead to
	elsewhere  map[string]string    // types that the simulation has something else in the place of, and what
	exceptions map[exception]string // what cannot be taken, and why
	further    bool                 // what is not taken is told, and is no failure
}

// exception is a return statement: its function, and its text in one line.
type exception struct{ function, text string }

var simulation = subject{
	module:  "github.com/flakeward/flakeward",
	program: "sim",
	tables: []table{
		{
			pkg: "coord/claims", title: "what Claim, Open, Extend and Release lead to",
			roots: []string{"Coordinator.Claim", "pending.Open", "held.Extend", "held.Release"},
			exceptions: map[exception]string{
				{"held.Extend", `return fmt.Errorf("worker ID %d: tick %d cannot be granted to this opening, which is of a gap that ends at %d", h.Worker(), progress.Ceiling, h.until)`}: "a daemon asks for nothing beyond its gap",
			},
		},
		{
			pkg: "coord/internal/mutex", title: "what Extend and Release wait for",
			roots: []string{"Mutex.LockContext"},
		},
		{
			pkg: "daemon/journal", title: "what Read and Write lead to",
			roots:     []string{"File.Read", "File.Write"},
			elsewhere: map[string]string{"realDisk": "a simulated disk"},
			exceptions: map[exception]string{
				{"File.Write", `return fmt.Errorf("the place of the journal %s: %w", f.path, err)`}: "a disk that is open knows its place",
				{"Contents.check", `return err`}:                                           "JSON's decoder leaves no text that is not valid, nor do settings",
				{"File.prepare", `return fmt.Errorf("the last write once more: %w", err)`}: "what was read can be written",
			},
		},
		{
			pkg: "daemon/grant", title: "what calls all that", further: true,
			roots: []string{
				"Holder.Attach", "Holder.Inherit", "Holder.ColdStart", "Holder.Acquire", "Holder.Publish", "Holder.Renew", "Holder.Shut",
				"Holder.Mark", "Holder.Hold",
			},
		},
	},
}

func measure(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("errorpaths", flag.ContinueOnError)
	from := flags.Uint64("from", 1, "the first seed")
	n := flags.Uint64("n", 6000, "how many seeds")
	if err := flags.Parse(args); err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "errorpaths")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	found, simulated := simulation.measure(".", work, out, "-from", fmt.Sprint(*from), "-n", fmt.Sprint(*n), "-again", "0")
	if found == nil {
		return simulated
	}
	return errors.Join(simulated, report(out, found))
}
