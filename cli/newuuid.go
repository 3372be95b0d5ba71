package cli

import (
	"context"
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/coord"
)

func clusterCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:        "cluster",
		Usage:       "show the coordinator's cluster, give a restored copy a new UUID, or add worker IDs",
		Description: "Its UUID, its layout, and the worker IDs that it assigns.\n" + coordinatorSource,
		Flags:       flags.flags(),
		Subcommands: []*urfave.Command{newUUIDCommand(own, out), widenCommand(own, out)},
		Action: func(c *urfave.Context) error {
			if err := noSubcommand(c); err != nil {
				return err
			}
			return flags.with(c, func(v *inspection) error {
				_, err := fmt.Fprintf(c.App.Writer, "cluster  %s at %s\nlayout   %s\nworkers  %v of %d\n",
					v.cluster.UUID, v.where, v.cluster.Layout, v.cluster.Range, v.cluster.Workers)
				return err
			})
		},
	})
}

func newUUIDCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:  "new-uuid",
		Usage: "give the cluster in this coordinator a UUID of its own: after it was made from another one's backup",
		Description: "A coordinator that was filled from the backup of another one, as a staging cluster may be from production's, holds a cluster\n" +
			"of the same UUID: each takes the other's journals and clients for its own. This gives the cluster that --coord names a fresh\n" +
			"UUID, and voids all that was opened before, in one step. The records stay: no ID is issued below their ceilings.\n" +
			"Run it before the first daemon is started on the copy, and never on the original: daemons that are connected stop, and\n" +
			"start again only with --accept-cluster and the new UUID.\n" +
			coordinatorSource,
		Flags: append(flags.flags(), yesFlag()),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return flags.with(c, func(v *inspection) error {
				members, err := v.members(c.Context)
				if err != nil {
					return err
				}
				if _, err := fmt.Fprintf(c.App.Writer, "cluster  %s at %s\nclaims   %d live: their daemons stop, and are not started again but with --accept-cluster\n",
					v.cluster.UUID, v.where, len(members)); err != nil {
					return err
				}
				if err := out.confirm(c, "Give it another UUID?"); err != nil {
					return err
				}
				return v.newUUID(c)
			})
		},
	})
}

// newUUID does it, and says what the new one is.
func (v *inspection) newUUID(c *urfave.Context) error {
	var uuid string
	err := v.ask(c.Context, func(ctx context.Context) (err error) {
		uuid, err = v.NewUUID(ctx)
		return err
	})
	if errors.Is(err, coord.ErrOtherCluster) {
		return err
	}
	if err != nil {
		return fmt.Errorf("whether the cluster has another UUID is not known (see flakeward cluster), and to give it one twice does no harm: run it again: %w", err)
	}
	_, err = fmt.Fprintf(c.App.Writer, "\nthe cluster is now %s, and was %s\n", uuid, v.cluster.UUID)
	return err
}
