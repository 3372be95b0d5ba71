// Command sim simulates whole clusters, each from a seed, and judges every ID that is issued, by
// the audit of the drills. A seed that shows a violation is run again with fewer and fewer faults,
// until none can be left out.
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
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/sim/simulation"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil && !errors.Is(err, flag.ErrHelp) {
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
	healed := flags.Uint64("healed", 10, "let each so manieth seed go on as with -recover; 0: none but with it")
	again := flags.Uint64("again", 100, "run one seed in so many twice, traced, and compare byte for byte; 0: none")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *seed == 0 {
		switch {
		case *verbose || *faults != "":
			return errors.New("-v and -faults are of one run: give its -seed")
		case *n == 0:
			return errors.New("-n 0 runs nothing: give how many seeds")
		}
		if *recovers {
			*healed = 1
		}
		return many(stdout, *from, *n, *workers, *again, *healed)
	}
	plan := simulation.PlanOf(*seed)
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
func one(stdout io.Writer, plan simulation.Plan, verbose bool) error {
	out := bufio.NewWriter(stdout)
	var trace io.Writer
	if verbose {
		trace = out
	}
	r := simulation.Run(plan, trace)
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
func many(stdout io.Writer, from, n uint64, workers int, again, healed uint64) error {
	// A run leaves some MB behind, and needs none of it: they are collected when there are many.
	debug.SetGCPercent(-1)
	debug.SetMemoryLimit(int64(max(1, workers)) << 26)
	begun := time.Now()
	var next, done atomic.Uint64
	var stop atomic.Bool
	var mu sync.Mutex
	var total simulation.Counts
	ends := simulation.Ends{}
	least := simulation.Counts{Faults: math.MaxInt, OfClocks: math.MaxInt, IDs: math.MaxUint64, Served: math.MaxUint64}
	planOf := func(i uint64) simulation.Plan {
		plan := simulation.PlanOf(from + i)
		plan.Recover = healed > 0 && i%healed == 0
		return plan
	}
	type failure struct {
		plan simulation.Plan
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
				plan := planOf(i)
				r := simulation.Run(plan, nil)
				if r.Violation == "" && again > 0 && i%again == 0 {
					r.Violation = simulation.Compare(plan)
				}
				done.Add(1)
				mu.Lock()
				total.Add(r.Counts)
				ends.Add(r.Ends)
				least.Faults, least.OfClocks = min(least.Faults, r.Counts.Faults), min(least.OfClocks, r.Counts.OfClocks)
				least.IDs, least.Served = min(least.IDs, r.Counts.IDs), min(least.Served, r.Counts.Served)
				if r.Violation != "" {
					stop.Store(true)
					if worst == nil || plan.Seed < worst.plan.Seed {
						worst = &failure{plan, r.Violation}
					}
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	took := time.Since(begun)
	count := float64(max(1, done.Load()))
	fmt.Fprintf(stdout, "%d seeds in %v, each on the average: %.1f s simulated, %.1f faults (at least %d), %.1f of clocks (at least %d), %.0f IDs (at least %d), %.0f requests served (at least %d), %.0f refused, "+
		"%.1f starts, %.2f claims made again, %.2f released, %.2f worker IDs handed over, %.2f runs out of order, %.2f by bursts, %.2f ticks begun above 0, %.0f events; %.0f times real time on each of %d processors\n",
		done.Load(), took.Round(time.Millisecond), total.Simulated.Seconds()/count, float64(total.Faults)/count, least.Faults, float64(total.OfClocks)/count, least.OfClocks,
		float64(total.IDs)/count, least.IDs, float64(total.Served)/count, least.Served, float64(total.Refused)/count, float64(total.Starts)/count,
		float64(total.Again)/count, float64(total.Released)/count, float64(total.Handovers)/count, float64(total.Unordered)/count, float64(total.Drawn)/count, float64(total.Rolled)/count,
		float64(total.Events)/count, total.Simulated.Seconds()/took.Seconds()/float64(max(1, workers)), workers)
	if worst == nil {
		return errors.Join(endings(stdout, done.Load(), ends), report(stdout, done.Load(), again, total, took, least))
	}
	plan := worst.plan
	fmt.Fprintf(stdout, "seed %d: VIOLATION: %s\n", plan.Seed, worst.text)
	shrunk, keep, r := simulation.Shrink(plan)
	fmt.Fprintf(stdout, "of %d faults %d are enough: %s\n", len(plan.Faults), len(keep), r.Violation)
	for i, f := range shrunk.Faults {
		fmt.Fprintf(stdout, "  %d: %s\n", keep[i], f)
	}
	fmt.Fprintf(stdout, "step by step: go run ./sim -recover=%t -seed %d -faults %s -v\n", plan.Recover, plan.Seed, list(keep))
	return errViolated
}

// What each seed is to show, and how fast; and with how many seeds all that may come of them must
// have.
const (
	fewest       = 20 // faults
	fewestClocks = 5  // of them of clocks
	fewestServed = 1  // requests
	fastEnough   = 1000
	enoughSeeds  = 1000
)

var errTooFew = errors.New("the seeds show too little")

// shows is an error if a run, or all of them together, show too little: where nothing is issued
// nothing can be wrong.
func shows(done uint64, total, least simulation.Counts) error {
	if done > 0 && (least.Faults < fewest || least.OfClocks < fewestClocks) {
		return fmt.Errorf("%w: at least %d faults and %d of clocks, where %d and %d are wanted", errTooFew, least.Faults, least.OfClocks, fewest, fewestClocks)
	}
	if done > 0 && (least.IDs == 0 || least.Served < fewestServed) {
		return fmt.Errorf("%w: in one %d IDs were issued and %d requests served, where %d are wanted", errTooFew, least.IDs, least.Served, fewestServed)
	}
	if done >= enoughSeeds && min(total.Again, total.Released, total.Handovers, total.Unordered, total.Drawn, total.Rolled) < done/4 {
		return fmt.Errorf("%w: %d claims made again, %d released, %d handed over, %d runs out of order, %d by bursts and %d ticks begun above 0 in %d seeds", errTooFew,
			total.Again, total.Released, total.Handovers, total.Unordered, total.Drawn, total.Rolled, done)
	}
	return nil
}

// report says in a line what runs without a violation show. It is an error if they show too little;
// that all took too long is only said, for that is also the machine's affair.
func report(stdout io.Writer, done, again uint64, total simulation.Counts, took time.Duration, least simulation.Counts) error {
	twice := "none of them twice"
	if again > 0 {
		twice = fmt.Sprintf("one of %d twice with the same trace", again)
	}
	fast := total.Simulated.Seconds() / took.Seconds()
	slow := ""
	if fast < fastEnough {
		slow = fmt.Sprintf(", and %d are wanted", fastEnough)
	}
	if err := shows(done, total, least); err != nil {
		return err
	}
	fmt.Fprintf(stdout, "%d seeds, %s, and no violation: %.1f hours of a cluster in %v, %.0f times real time%s; at least %d faults in each, %d of clocks\n",
		done, twice, total.Simulated.Hours(), took.Round(100*time.Millisecond), fast, slow, least.Faults, least.OfClocks)
	return nil
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
