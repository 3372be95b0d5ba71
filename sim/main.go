// Command sim simulates whole clusters, each from a seed, and judges every ID that is issued. A seed that shows a
// violation is run again with fewer and fewer faults, until none can be left out.
//
//	go run ./sim                     seeds 1 to 1000
//	go run ./sim -from 5000 -n 10000
//	go run ./sim -seed 42 -v         one run, step by step
//	go run ./sim -seed 42 -faults 3,17 -v
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/sim/world"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sim:", err)
		os.Exit(1)
	}
}

var errViolated = errors.New("a violation was found")

func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("sim", flag.ContinueOnError)
	seed := flags.Uint64("seed", 0, "run this seed alone")
	from := flags.Uint64("from", 1, "the first seed")
	n := flags.Uint64("n", 1000, "how many seeds")
	verbose := flags.Bool("v", false, "with -seed: trace the run step by step")
	faults := flags.String("faults", "", "with -seed: only the faults with these numbers, as 3,17; - for none")
	workers := flags.Int("p", runtime.GOMAXPROCS(0), "how many runs at once")
	recovers := flags.Bool("recover", false, "let each run go on without faults, and see whether all daemons that can issue do")
	again := flags.Uint64("again", 100, "run each so manieth seed twice, traced, and compare byte for byte; 0: none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *seed == 0 {
		return many(stdout, *from, *n, *workers, *again, *recovers)
	}
	plan := world.PlanOf(*seed)
	plan.Recover = *recovers
	if *faults != "" {
		keep, err := numbers(*faults, len(plan.Faults))
		if err != nil {
			return err
		}
		plan = plan.With(keep)
	}
	return one(stdout, plan, *verbose)
}

func numbers(text string, below int) ([]int, error) {
	if text == "-" {
		return nil, nil
	}
	var keep []int
	for part := range strings.SplitSeq(text, ",") {
		i, err := strconv.Atoi(part)
		if err != nil || i < 0 || i >= below {
			return nil, fmt.Errorf("-faults: %q is no number of a fault: there are 0 to %d", part, below-1)
		}
		keep = append(keep, i)
	}
	return keep, nil
}

// one runs one plan.
func one(stdout io.Writer, plan world.Plan, verbose bool) error {
	out := bufio.NewWriter(stdout)
	var trace io.Writer
	if verbose {
		trace = out
	}
	r := world.Run(plan, trace)
	fmt.Fprintf(out, "seed %d: %+v, digest %016x\n", plan.Seed, r.Counts, r.Digest)
	if err := out.Flush(); err != nil {
		return err
	}
	if r.Violation == "" {
		return nil
	}
	fmt.Fprintf(stdout, "VIOLATION: %s\n", r.Violation)
	return errViolated
}

// many runs seeds until all are done or one shows a violation.
func many(stdout io.Writer, from, n uint64, workers int, again uint64, recovers bool) error {
	debug.SetGCPercent(400) // a run leaves some MB behind, and needs none of it
	begun := time.Now()
	var next, done atomic.Uint64
	var stop atomic.Bool
	var mu sync.Mutex
	var total world.Counts
	least, leastClocks := 1<<30, 1<<30
	type failure struct {
		seed uint64
		text string
	}
	var worst *failure
	var group sync.WaitGroup
	for range max(1, workers) {
		group.Go(func() {
			for !stop.Load() {
				i := next.Add(1) - 1
				if i >= n {
					return
				}
				plan := world.PlanOf(from + i)
				plan.Recover = recovers
				r := world.Run(plan, nil)
				if r.Violation == "" && again > 0 && i%again == 0 {
					r.Violation = world.Compare(plan)
				}
				done.Add(1)
				mu.Lock()
				total.Add(r.Counts)
				least, leastClocks = min(least, r.Counts.Faults), min(leastClocks, r.Counts.OfClocks)
				if r.Violation != "" {
					stop.Store(true)
					if worst == nil || plan.Seed < worst.seed {
						worst = &failure{plan.Seed, r.Violation}
					}
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	took := time.Since(begun)
	count := float64(max(1, done.Load()))
	fmt.Fprintf(stdout, "%d seeds in %v: %.1f s simulated, %.1f faults (at least %d), %.1f of clocks (at least %d), %.0f IDs, %.0f requests served, %.0f refused, %.1f starts (%.2f cold), %.0f events each; %.0f times real time on each of %d processors\n",
		done.Load(), took.Round(time.Millisecond), total.Simulated.Seconds()/count, float64(total.Faults)/count, least, float64(total.OfClocks)/count, leastClocks,
		float64(total.IDs)/count, float64(total.Served)/count, float64(total.Refused)/count, float64(total.Starts)/count, float64(total.ColdStarts)/count,
		float64(total.Events)/count, total.Simulated.Seconds()/took.Seconds()/float64(max(1, workers)), workers)
	if worst == nil {
		return nil
	}
	fmt.Fprintf(stdout, "seed %d: VIOLATION: %s\n", worst.seed, worst.text)
	plan := world.PlanOf(worst.seed)
	plan.Recover = recovers
	shrunk, keep, r := world.Shrink(plan)
	fmt.Fprintf(stdout, "of %d faults these %d are enough: %s\n", len(plan.Faults), len(keep), r.Violation)
	for i, f := range shrunk.Faults {
		fmt.Fprintf(stdout, "  %d: %s\n", keep[i], f)
	}
	fmt.Fprintf(stdout, "step by step: go run ./sim -recover=%t -seed %d -faults %s -v\n", recovers, worst.seed, list(keep))
	return errViolated
}

func list(keep []int) string {
	if len(keep) == 0 {
		return "-"
	}
	text := make([]string, len(keep))
	for i, k := range keep {
		text[i] = strconv.Itoa(k)
	}
	return strings.Join(text, ",")
}
