package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

func widenCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	furthest := cluster.Furthest
	return withConfig(&urfave.Command{
		Name:      "widen",
		Usage:     "add worker IDs to the cluster, after the other generator that had them was stopped",
		ArgsUsage: "LOW-HIGH|all",
		Description: "A cluster that was made with a --range assigns the worker IDs of that range alone. This has it assign those from LOW to\n" +
			"HIGH, both included, or all of the layout. The range has to have all that are assigned now: none is ever taken away.\n" +
			"--above-id is the highest ID that the other generator made: each worker ID that is added begins after its time, and not before\n" +
			"the longest window and " + cluster.Span(cluster.Margin) + " have passed.\n" +
			"Stop the other generator on every host first. Daemons go on meanwhile, and keep their worker IDs.\n" +
			coordinatorSource,
		Flags: append(flags.flags(),
			&urfave.Int64Flag{Name: "above-id", Usage: "highest `ID` of the other generator; 0: it issued none"},
			&urfave.DurationFlag{Name: "max", Destination: &furthest, Value: furthest, Usage: "refuse an ID whose time is further from now than this `DURATION`"},
			yesFlag(),
		),
		Action: func(c *urfave.Context) error {
			if c.NArg() != 1 || !c.IsSet("above-id") {
				return usagef("cluster widen takes the worker IDs to assign, such as 0-1023 or all, and --above-id")
			}
			var to coord.WorkerRange
			if text := c.Args().First(); text != "all" {
				var err error
				if to, err = coord.ParseWorkerRange(text); err != nil || to.Count == 0 {
					return usagef("%q is no range of worker IDs: write the lowest and the highest, such as 512-1023, or all", text)
				}
			}
			return flags.with(c, func(v *inspection) error {
				above, err := aboveID(v.cluster.Layout, c.Int64("above-id"), v.now(), furthest)
				if err != nil {
					return err
				}
				// They begin as far ahead as after a raise: whoever had them may issue a little
				// longer.
				above = max(above, v.cluster.Target(v.now()))
				begin := v.cluster.Layout.StartOf(above + 1)
				if _, err := fmt.Fprintf(c.App.Writer, "cluster  %s at %s\nworkers  %v now, %v then\nbegin    %s, %s: each worker ID that is added\n",
					v.cluster.UUID, v.where, v.cluster.Range, to.Of(v.cluster.Workers), cluster.Time(begin), cluster.Signed(begin.Sub(v.now()))); err != nil {
					return err
				}
				if err := out.confirm(c, "Add them?"); err != nil {
					return err
				}
				return v.widen(c, to, above)
			})
		},
	})
}

// aboveID is the tick of the last ID of another generator, which is refused if its time is too far
// from now.
func aboveID(layout *generator.Layout, id int64, now time.Time, furthest time.Duration) (generator.Tick, error) {
	parts, err := layout.Decompose(id)
	if err != nil {
		return 0, usagef("--above-id: %w", err)
	}
	if left := parts.Time.Sub(now); left > furthest || parts.Tick >= layout.MaxTick() {
		return 0, usagef("--above-id: the time of %d is %s, which is %s from now and more than %v: is it an ID of the layout %s?",
			id, cluster.Time(parts.Time), cluster.Span(left), furthest, layout)
	}
	return parts.Tick, nil
}

// widen does it, and says what to do next.
func (v *inspection) widen(c *urfave.Context, to coord.WorkerRange, above generator.Tick) error {
	err := v.change(c.Context, func(ctx context.Context) error { return v.Widen(ctx, to, above) })
	if narrow := (*coord.NarrowError)(nil); errors.As(err, &narrow) {
		return usagef("nothing was changed: %w", err)
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.App.Writer, "\nthe cluster assigns the worker IDs %v\n", to.Of(v.cluster.Workers))
	return err
}
