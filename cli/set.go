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
	flags, window, trust := newOperatorFlags(own, out), time.Duration(0), false
	command := withConfig(&urfave.Command{
		Name:  "set",
		Usage: "change how far ahead the cluster's daemons are granted; say that clocks which are held are right",
		Description: "--window is how long daemons go on without the coordinator, and a worker ID rests after a crash, at most. Each daemon\n" +
			"learns it when it extends its grant next. A raise goes beyond the longest that it ever was.\n" +
			"--trust-clock says what time it is, by this host's clock: daemons whose clocks are held and are within a window of it follow\n" +
			"them. If the time is wrong, no ID is issued twice, but IDs carry it.\n" + coordinatorSource,
		Flags: flags.flags(),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			switch {
			case !c.IsSet("window") && !trust:
				return usagef("cluster set takes --window or --trust-clock")
			case c.IsSet("window") && (window < cluster.Narrowest || window > cluster.Widest):
				return usagef("--window: %v is not within %v and %v", window, cluster.Narrowest, cluster.Widest)
			case trust && !out.synchronised() && !c.Bool(yesName):
				return usagef("--trust-clock: the kernel does not call this host's clock synchronised: set it right, or give --yes if it is")
			}
			return flags.with(c, func(v *inspection) error {
				text := fmt.Sprintf("cluster  %s at %s\n", v.cluster.UUID, v.where)
				if c.IsSet("window") {
					length := v.cluster.Layout.TickLength()
					ticks := max(4, generator.Tick((window+length-1)/length))
					if err := v.change(c.Context, func(ctx context.Context) error { return v.SetWindow(ctx, ticks) }); err != nil {
						return err
					}
					text += fmt.Sprintf("window   %s, before %s\n", cluster.Span(window), cluster.Span(v.cluster.Window))
				}
				if trust {
					now := v.now()
					at := v.cluster.Layout.TickAt(now.UnixNano())
					if err := v.change(c.Context, func(ctx context.Context) error { return v.TrustClock(ctx, at) }); err != nil {
						return err
					}
					text += fmt.Sprintf("time     %s\n", cluster.Time(now))
				}
				_, err := fmt.Fprint(c.App.Writer, text)
				return err
			})
		},
	})
	// They are said on the command line: a setting of a daemon changes nothing of the cluster.
	command.Flags = append(command.Flags,
		&urfave.DurationFlag{Name: "window", Destination: &window, Value: window, DefaultText: "as it is", Usage: "grant at most this `DURATION` ahead, 2s to 24h"},
		&urfave.BoolFlag{Name: "trust-clock", Destination: &trust, Usage: "have daemons follow clocks that are ahead, if they agree with this host's"},
		&urfave.BoolFlag{Name: yesName, Usage: "trust this host's clock although the kernel does not call it synchronised"},
	)
	return command
}
