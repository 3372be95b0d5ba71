// Command coordination measures what a cluster of daemons costs its coordinator, on a real etcd
// server and on a real ZooKeeper server: how long it takes until daemons that all start at once
// hold a worker ID and a grant each; and then, while each of them publishes, the writes per second
// as the server counts them, next to what daemons over publish says, and the bytes that this makes
// in the server's log and on the network.
//
//	go run ./bench/coordination
//
// The daemons are coordinators of package coord in this process, with a session and a connection
// each. ZooKeeper with Java must be installed (`make zookeeper`). Whatever else the machine does is
// in the times too, not in the writes and the bytes.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/flakeward/flakeward/internal/tool"
)

func main() { tool.Main("coordination", run) }

// options is what the program can be told.
type options struct {
	daemons  []int
	publish  time.Duration
	duration time.Duration
	only     string
}

func parse(args []string, stderr io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("coordination", flag.ContinueOnError)
	flags.SetOutput(stderr)
	daemons := flags.String("daemons", "10,100,1000", "numbers of daemons, separated by commas")
	flags.DurationVar(&o.publish, "publish", 10*time.Second, "the time between two grants of a daemon, give or take a tenth; the daemon's own is 10s")
	flags.DurationVar(&o.duration, "for", time.Minute, "how long daemons publish for each line")
	flags.StringVar(&o.only, "only", "", "measure only this one: etcd or zookeeper")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	for field := range strings.SplitSeq(*daemons, ",") {
		n, err := strconv.Atoi(field)
		if err != nil || n < 1 || n > 10000 {
			return o, fmt.Errorf("-daemons: %q is no number within 1 and 10000", field)
		}
		o.daemons = append(o.daemons, n)
	}
	if o.publish <= 0 || o.duration <= 0 {
		return o, errors.New("-publish and -for must be above 0")
	}
	if _, ok := backends[o.only]; o.only != "" && !ok {
		return o, fmt.Errorf("-only: there is no %q; take etcd or zookeeper", o.only)
	}
	return o, nil
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	o, err := parse(args, stderr)
	if err != nil {
		return err
	}
	var lines []line
	for _, name := range []string{"etcd", "zookeeper"} {
		if o.only != "" && o.only != name {
			continue
		}
		for _, n := range o.daemons {
			fmt.Fprintf(stderr, "%s, %d daemons...\n", name, n)
			l, err := measure(ctx, name, n, o)
			if err != nil {
				return fmt.Errorf("%s, %d daemons: %w", name, n, err)
			}
			lines = append(lines, l)
		}
	}
	print(stdout, o, lines)
	return nil
}

func print(out io.Writer, o options, lines []line) {
	fmt.Fprintf(out, "Daemons publish every %v (give or take a tenth), for %v. Bytes are per write, in the server's log with its framing;\nand per daemon and second on the network, keep-alives included.\n\n", o.publish, o.duration)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "coordinator\tdaemons\tall hold a grant\tfailed tries\tpublished\twrites\twrites/s\tdaemons/publish\toff by\tlog B/write\tto server B/s\tfrom server B/s\t")
	for _, l := range lines {
		rate, want := float64(l.writes)/l.took.Seconds(), float64(l.daemons)/o.publish.Seconds()
		per := float64(l.daemons) * l.took.Seconds()
		fmt.Fprintf(table, "%s\t%d\t%v\t%d\t%d\t%d\t%.2f\t%.2f\t%+.1f%%\t%.0f\t%.1f\t%.1f\t\n", l.backend, l.daemons, l.storm.Round(time.Millisecond), l.failed, l.published, l.writes,
			rate, want, 100*(rate/want-1), float64(l.logged)/float64(max(l.writes, 1)), float64(l.sent)/per, float64(l.received)/per)
	}
	_ = table.Flush() // as for all that is printed here
}
