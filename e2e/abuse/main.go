// Command abuse does to a real daemon what no client should, and measures what that costs it and
// another client: the daemon's memory, the other client's latency, the log.
//
//	go build -o /tmp/flakeward . && go run ./e2e/abuse -binary /tmp/flakeward
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"
)

// finding is what was seen in one abuse.
type finding struct {
	peak     int64 // VmHWM, bytes
	latency  []time.Duration
	refused  int // requests of the other client
	logLines int
	limits   string // what INFO has counted
	wrong    string // what must not be; empty: nothing
}

func main() {
	binary := flag.String("binary", "", "the daemon's program")
	memory := flag.Int64("memory", 256, "MiB that it may use")
	lasts := flag.Duration("for", 5*time.Second, "how long each abuse lasts")
	only := flag.String("only", "", "the name of one abuse; empty: all")
	as := flag.String("as", "", "be the abuser of this name (for the program itself)")
	uid := flag.Int("uid", 65534, "the user that the abuser is, where this program runs as root; 0: root")
	socket := flag.String("socket", "", "the socket to abuse (for the program itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *as != "" {
		err = be(ctx, *as, *socket, *uid)
	} else {
		err = run(ctx, *binary, *memory, *lasts, *only, *uid)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "abuse:", err)
		os.Exit(1)
	}
}

// run runs the abuses one after the other and prints a table.
func run(ctx context.Context, binary string, memory int64, lasts time.Duration, only string, uid int) error {
	out := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(out, "abuse\tVmHWM MiB\trequests\tp50 ms\tp99 ms\tmax ms\trefused\tlog lines\tlimits\twrong") //nolint:errcheck // to a terminal
	var errs error
	for _, a := range abuses {
		if only != "" && only != a.name {
			continue
		}
		f, err := a.measure(ctx, binary, memory, lasts, uid)
		if err != nil {
			return fmt.Errorf("%s: %w", a.name, err)
		}
		if most := memory << 20 * 11 / 10; f.peak > most {
			f.wrong += " memory"
		}
		if f.wrong != "" {
			errs = errors.Join(errs, fmt.Errorf("%s:%s", a.name, f.wrong))
		}
		slices.Sort(f.latency)
		fmt.Fprintf(out, "%s\t%d\t%d\t%.2f\t%.2f\t%.2f\t%d\t%d\t%s\t%s\n", a.name, f.peak>>20, len(f.latency), //nolint:errcheck // to a terminal
			f.at(0.5), f.at(0.99), f.at(1), f.refused, f.logLines, f.limits, f.wrong)
		if err := out.Flush(); err != nil {
			return err
		}
	}
	return errs
}

// at is a quantile of the latency in milliseconds.
func (f finding) at(q float64) float64 {
	if len(f.latency) == 0 {
		return 0
	}
	return float64(f.latency[min(len(f.latency)-1, int(q*float64(len(f.latency))))]) / float64(time.Millisecond)
}
