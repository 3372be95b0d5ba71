package cli

import (
	"context"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
)

// creating is one run of cluster create.
type creating struct {
	*operatorFlags
	workers string
	above   int64
	empty   bool
	begin   time.Duration
}

func createCommand(own paths, out *outside) *urfave.Command {
	f := &creating{operatorFlags: newOperatorFlags(own, out)}
	return withConfig(&urfave.Command{
		Name:  "create",
		Usage: "make a cluster for daemons to start in; the first daemon in a directory makes its own",
		Description: "Daemons start only where a cluster is. Give the command the settings of the daemons, and run it once, before they start. It prints\n" +
			"the time from which they issue IDs. Where a cluster is, it says so and changes nothing.\n" +
			"After the coordinator has lost its data, daemons that know of the old cluster may still issue IDs. So the new cluster\n" +
			"begins after the longest --window of them and " + cluster.Span(cluster.Margin) + ", by this host's clock. A window counts as " + cluster.Span(cluster.LeastWindow) + " at least. If a daemon\n" +
			"ever had a longer --window than the new cluster's, give --begin: that window plus " + cluster.Span(cluster.Margin) + ".\n" +
			"Where no daemon ever issued IDs of this layout, --empty has the cluster begin at once.\n" +
			coordinatorSource,
		Flags: append(append(f.flags(), f.settingsOf(func(name string) bool {
			return name == layoutName || name == "datacenter" || name == "window"
		})...),
			&urfave.StringFlag{Name: "range", Destination: &f.workers, DefaultText: "all", Usage: "assign only the worker IDs `LOW-HIGH`, and leave the others to another generator"},
			&urfave.Int64Flag{Name: "above-id", Destination: &f.above, Usage: "issue only IDs higher than this `ID`, the last one of another generator"},
			&urfave.BoolFlag{Name: "empty", Destination: &f.empty, Usage: "begin at once: no daemon ever issued IDs of this layout"},
			&urfave.DurationFlag{Name: "begin", Destination: &f.begin, Value: f.begin, DefaultText: "the --window, at least 10m, plus 5m", Usage: "begin this `DURATION` from now"},
			&urfave.BoolFlag{Name: yesName, Usage: "create the cluster although the kernel does not call this host's clock synchronised"},
		),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if !c.IsSet(coordName) && !c.IsSet(socketName) {
				return usagef("the default directory's daemon makes its cluster by itself: name a coordinator with --coord")
			}
			wanted, err := f.wanted(c)
			if err != nil {
				return err
			}
			return f.on(c, f.open, func(v *inspection) error { return f.create(c, v, wanted) })
		},
	})
}

// wanted is what the cluster is made with, by the flags.
func (f *creating) wanted(c *urfave.Context) (coord.NewCluster, error) {
	wanted, layout, window, err := f.settings.daemon.NewCluster()
	if err != nil {
		return coord.NewCluster{}, &usageError{err}
	}
	if wanted.Range, err = coord.ParseWorkerRange(f.workers); err == nil {
		_, err = wanted.Range.Within(wanted.Workers)
	}
	if err != nil {
		return coord.NewCluster{}, usagef("--range: %w", err)
	}
	now := time.Unix(0, f.outside.clock.Now().Wall)
	if now.Before(layout.Epoch()) || !now.Before(layout.End()) {
		return coord.NewCluster{}, usagef("--layout: %w", layout.CheckTime(now))
	}
	begin := time.Duration(0)
	if !f.empty {
		begin = max(window, cluster.LeastWindow) + cluster.Margin
		if !f.outside.synchronised() && !c.Bool(yesName) {
			return coord.NewCluster{}, usagef("the kernel does not call this host's clock synchronised, and the cluster begins by that clock: set it right, or give --yes if it is")
		}
	}
	switch {
	case f.empty && c.IsSet("begin"):
		return coord.NewCluster{}, usagef("--empty and --begin both say when the cluster begins: give one of them")
	case c.IsSet("begin") && f.begin < begin:
		return coord.NewCluster{}, usagef("--begin: daemons may issue for %v and more, and clocks may differ: give at least %v, or --empty if no daemon ever issued IDs of this layout", max(window, cluster.LeastWindow), begin)
	}
	wanted.Floor = layout.TickAt(now.Add(max(begin, f.begin)).UnixNano())
	if f.above != 0 {
		tick, err := aboveID(layout, f.above, now, cluster.Furthest)
		if err != nil {
			return coord.NewCluster{}, err
		}
		wanted.Floor = max(wanted.Floor, tick)
	}
	if wanted.Floor >= layout.MaxTick() {
		return coord.NewCluster{}, usagef("--layout: its time ends before the cluster would begin")
	}
	return wanted, nil
}

// create makes the cluster, and says from when on it issues IDs.
func (f *creating) create(c *urfave.Context, v *inspection, wanted coord.NewCluster) error {
	found, err := changed(c.Context, v, func(ctx context.Context) (coord.Created, error) { return v.Create(ctx, wanted) })
	if err != nil {
		return err
	}
	if v.cluster, err = cluster.Of(found.Inspected); err != nil {
		return err
	}
	if !found.Made {
		if (c.IsSet(layoutName) || c.IsSet("datacenter")) && wanted.Text != found.Layout {
			return fmt.Errorf("there is a cluster already, and nothing was changed: its layout is %q, and the one given is %q", found.Layout, wanted.Text)
		}
		if ours := wanted.Range.Of(wanted.Workers); wanted.Range.Count != 0 && ours != found.Range.Of(wanted.Workers) {
			return fmt.Errorf("there is a cluster already, and nothing was changed: it assigns the worker IDs %v, and not %v", found.Range.Of(wanted.Workers), ours)
		}
	}
	what := "created: cluster %s is at %s\n"
	if !found.Made {
		what = "there is a cluster already, and nothing was changed: %s at %s\n"
	}
	begin := v.cluster.Layout.StartOf(found.Floor + 1)
	from := "at once"
	if left := begin.Sub(v.now()); left > 0 {
		from = fmt.Sprintf("from %s on, %s", cluster.Time(begin), cluster.Signed(left))
	}
	_, err = fmt.Fprintf(c.App.Writer, what+"IDs are issued %s\n", v.cluster.UUID, v.where, from)
	return err
}
