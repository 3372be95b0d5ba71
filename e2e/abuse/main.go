// Command abuse does to a real daemon what no client should, and measures what that costs it and
// other clients: the daemon's memory and rate, the latency of a client of another user and of one
// of the same user, the log. A third client asks another daemon on the same machine, which nobody
// abuses: it waits for the processors alone, which the abuser's own process takes from everybody.
//
//	go build -o /tmp/flakeward . && go build -o /tmp/abuse ./e2e/abuse && sudo /tmp/abuse -binary /tmp/flakeward
//
// Only root can be another user. The rows of other users are of this one's otherwise.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/internal/table"
)

// finding is what was seen in one abuse.
type finding struct {
	peak                 int64   // VmHWM, bytes
	another, same, apart seen    // a client of another user, of the abuser's, and of another daemon
	rate                 float64 // IDs a second that the daemon issued
	logLines             int
	limits               string // what INFO has counted
	wrong                string // what must not be; empty: nothing
}

// highest is what other users' clients may wait, in milliseconds, at the p99.
const highest = 10

// options are what the program can be told.
type options struct {
	binary string
	memory int64
	lasts  time.Duration
	only   string
	uid    int
}

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "", "the daemon's program")
	flag.Int64Var(&o.memory, "memory", 256, "MiB that it may use")
	flag.DurationVar(&o.lasts, "for", 5*time.Second, "how long each abuse lasts")
	flag.StringVar(&o.only, "only", "", "a regular expression for the names of abuses; empty: all")
	flag.IntVar(&o.uid, "uid", 65534, "the user that the abuser is, where this program runs as root; 0: root")
	as := flag.String("as", "", "be the abuser of this name, or a neighbour (for the program itself)")
	anew := flag.Bool("anew", false, "have the neighbour connect for each request (for the program itself)")
	socket := flag.String("socket", "", "the socket to use (for the program itself)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	switch *as {
	case "":
		err = o.run(ctx)
	case asNeighbour:
		err = beNeighbour(ctx, *socket, o.uid, *anew, o.lasts, os.Stdout)
	default:
		err = be(ctx, *as, *socket, o.uid)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "abuse:", err)
		os.Exit(1)
	}
}

// run runs the abuses one after the other and prints a table. Latencies are in milliseconds.
func (o options) run(ctx context.Context) error {
	only, err := regexp.Compile(o.only)
	if err != nil {
		return err
	}
	titles := []string{"abuse", "VmHWM MiB"}
	for _, who := range []string{"another user", "the same", "another daemon"} {
		titles = append(titles, who+": p50", "p99", "max", "IDs")
	}
	titles = append(titles, "IDs/s", "log lines", "limits", "wrong")
	var rows [][]string
	var errs error
	for _, a := range abuses {
		if !only.MatchString(a.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, a.name) // to a terminal
		f, err := o.measure(ctx, a)
		if err != nil {
			errs = errors.Join(errs, fmt.Errorf("%s: %w", a.name, err))
			break
		}
		if most := o.memory << 20 * 11 / 10; f.peak > most {
			f.wrong += " memory"
		}
		if f.another.at(0.99) > highest {
			f.wrong += " p99"
		}
		if f.another.end != "" {
			f.wrong += " ended"
		}
		if f.wrong != "" {
			errs = errors.Join(errs, fmt.Errorf("%s:%s", a.name, f.wrong))
		}
		rows = append(rows, slices.Concat([]string{a.name, strconv.FormatInt(f.peak>>20, 10)},
			f.another.cells(), f.same.cells(), f.apart.cells(),
			[]string{fmt.Sprintf("%.0f", f.rate), strconv.Itoa(f.logLines), f.limits, fmt.Sprintf("%.60s", f.wrong)}))
	}
	return errors.Join(errs, table.Write(os.Stdout, titles, rows))
}
