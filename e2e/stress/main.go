// Command stress kills daemons under load and moves their clocks, and then says whether an ID was
// ever issued twice.
//
// The first table is of kills: several clients pull IDs as fast as they get them while the
// daemon is killed with SIGKILL and started again on the same state directory, its clock being set
// off at random in half of its lives. Every ID that reached a client is kept and compared with
// every other; after each kill the journal is read as the daemon left it, and no ID may be above
// its mark. The second table is of clocks set back under a steady load: which answer the daemon's
// clock guard gave, and how long the client was without IDs.
//
// It runs the daemon that it builds from the module it is run in, with the drill clock. It ends
// with status 1 if a promise was broken or something did not work.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/flakeward/flakeward/internal/process"
	"github.com/flakeward/flakeward/internal/tool"
)

func main() { tool.Main("stress", run) }

// options is what the program can be told.
type options struct {
	seed     uint64
	kills    int
	ids      uint64
	clients  int
	rate     int
	repeat   int
	only     string
	binary   string
	restarts time.Duration
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("stress", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Uint64Var(&o.seed, "seed", 0, "of all random choices; 0: another each time, printed")
	flags.IntVar(&o.kills, "kills", 50, "lives under load that end with SIGKILL")
	flags.Uint64Var(&o.ids, "ids", 20_000_000, "IDs to keep and compare, at least")
	flags.IntVar(&o.clients, "clients", 4, "clients")
	flags.IntVar(&o.rate, "rate", 200_000, "IDs a second that are asked for while the clock is set back")
	flags.IntVar(&o.repeat, "repeat", 5, "daemons whose clock is set back")
	flags.StringVar(&o.only, "only", "", "one table only: kill or rollback")
	flags.StringVar(&o.binary, "daemon", "", "a daemon built with -tags drill; empty: build it")
	flags.DurationVar(&o.restarts, "restart-limit", 3*time.Second, "the longest that a restart may take until the first ID; 0: any")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	switch {
	case flags.NArg() > 0:
		return o, fmt.Errorf("%q is not understood: see -help", flags.Arg(0))
	case o.kills < 1 || o.clients < 1 || o.rate < 1 || o.repeat < 1 || o.ids < 1:
		return o, errors.New("-kills, -ids, -clients, -rate and -repeat must be at least 1")
	case o.only != "" && o.only != "kill" && o.only != "rollback":
		return o, fmt.Errorf("-only %s: write kill or rollback", o.only)
	}
	for o.seed == 0 {
		o.seed = rand.Uint64()
	}
	return o, nil
}

// run does what the arguments ask for and prints the tables to stdout.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "stress-")
	if err != nil {
		return err
	}
	defer func() {
		if err == nil {
			err = os.RemoveAll(dir)
			return
		}
		fmt.Fprintln(stderr, "stress: the daemon's state and the IDs are kept in", dir)
	}()
	if o.binary == "" {
		if o.binary, err = process.Build(ctx, dir); err != nil {
			return err
		}
	}
	var errs []error
	if o.only != "rollback" {
		errs = append(errs, killTable(ctx, o, filepath.Join(dir, "kill"), stdout, stderr))
	}
	if o.only != "kill" {
		errs = append(errs, rollbackTable(ctx, o, filepath.Join(dir, "rollback"), stdout, stderr))
	}
	return errors.Join(errs...)
}

func killTable(ctx context.Context, o options, dir string, stdout, stderr io.Writer) error {
	t, err := newStress(ctx, stressConfig{
		Binary:  o.binary,
		Dir:     dir,
		Seed:    o.seed,
		Clients: o.clients,
		Plan:    plan(newRandom(o.seed), o.kills, o.ids),
		IDs:     o.ids,
		Log:     stderr,
	})
	if err != nil {
		return err
	}
	found, err := t.run(ctx)
	if err != nil {
		return fmt.Errorf("seed %d: %w", o.seed, err)
	}
	found.print(stdout, o.restarts)
	return found.verdict(o.restarts)
}

func rollbackTable(ctx context.Context, o options, dir string, stdout, stderr io.Writer) error {
	var all rollbacks
	for n := range o.repeat {
		fmt.Fprintf(stderr, "rollback: daemon %d of %d\n", n+1, o.repeat)
		if err := all.measure(ctx, o.binary, filepath.Join(dir, fmt.Sprint(n)), o.rate); err != nil {
			return err
		}
	}
	all.print(stdout, o.rate)
	return all.verdict()
}

// newRandom is the source of all choices that a seed stands for.
func newRandom(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }
