package cli

import (
	"context"
	"fmt"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord/connect"
)

func adoptCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	furthest, by := cluster.Furthest, cluster.Margin
	return withConfig(&urfave.Command{
		Name:  "adopt",
		Usage: "make a copied or restored directory a cluster of its own",
		Description: "A directory that was copied, or restored from a backup, does not know what was granted since, and is refused. This command gives\n" +
			"its cluster another UUID and raises the ceilings of all worker IDs, as `cluster raise` does: no daemon issues IDs until then.\n" +
			"Only one of a directory and its copies may be used on a host. Nothing is refused if this is run again.\n" +
			"Afterwards, start the daemons.\n" +
			coordinatorSource,
		Flags: append(flags.flags(), raisingFlags(&by, &furthest)...),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if err := flags.locate(c); err != nil {
				return err
			}
			if d, err := connect.Describe(flags.settings.daemon.Cluster.Coord); err == nil && !d.Local {
				return usagef("cluster adopt is for a directory: name it with --coord dir:PATH")
			}
			flags.settings.daemon.Cluster.Adopt = true
			return flags.with(c, func(v *inspection) error { return v.adopt(c, out, by, furthest) })
		},
	})
}

// adopt raises the marks first: a cluster with another UUID and old marks must not be left behind.
func (v *inspection) adopt(c *urfave.Context, out *outside, by, furthest time.Duration) error {
	r, err := v.aimed(c, out, by, furthest)
	if err != nil {
		return err
	}
	if err := out.confirm(c, "Give the cluster another UUID and raise its marks? Daemons that run with it end."); err != nil {
		return err
	}
	uuid, err := changed(c.Context, v, func(ctx context.Context) (string, error) {
		if _, err := v.Raise(ctx, r.to); err != nil {
			return "", err
		}
		return v.NewUUID(ctx)
	})
	if err != nil {
		return err
	}
	from := r.cluster.Layout.StartOf(r.to + 1)
	_, err = fmt.Fprintf(c.App.Writer, "\nadopted: %s holds cluster %s now\nIDs are issued from %s on\nnext: start its daemons\n", v.where, uuid, cluster.Time(from))
	return err
}
