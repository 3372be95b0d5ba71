package cli

import (
	"context"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/generator"
)

func setCommand(own paths, out *outside) *urfave.Command {
	flags, window := newOperatorFlags(own, out), time.Duration(0)
	return withConfig(&urfave.Command{
		Name:  "set",
		Usage: "change how far ahead the cluster's daemons are granted",
		Description: "--window is how long daemons go on without the coordinator, and how long a worker ID rests after a crash at most. Each daemon\n" +
			"learns it when it extends its grant next. A raise goes beyond the longest that it ever was.\n" + coordinatorSource,
		Flags: append(flags.flags(),
			&urfave.GenericFlag{Name: "window", Value: (*duration)(&window), Usage: "grant this `DURATION` ahead, up to 24h"},
		),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if !c.IsSet("window") {
				return usagef("cluster set takes --window")
			}
			if window <= 0 || window > cluster.Widest {
				return usagef("--window: %v is not above 0 and up to %v", window, cluster.Widest)
			}
			return flags.with(c, func(v *inspection) error {
				length := v.cluster.Layout.TickLength()
				ticks := max(4, generator.Tick((window+length-1)/length))
				if err := v.ask(c.Context, func(ctx context.Context) error { return v.SetWindow(ctx, ticks) }); err != nil {
					return fmt.Errorf("%w; %s", err, again)
				}
				_, err := fmt.Fprintf(c.App.Writer, "cluster  %s at %s\nwindow   %s, before %s\n", v.cluster.UUID, v.where, cluster.Span(window), cluster.Span(v.cluster.Window))
				return err
			})
		},
	})
}
