package cli

import (
	"context"
	"fmt"
	"slices"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
)

func claimsCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:  "claims",
		Usage: "list the claims on worker IDs, or delete a stale one",
		Description: "A claim keeps a worker ID for one daemon while that daemon's session lives.\n" +
			coordinatorSource,
		Flags:       append(flags.flags(), jsonFlag("print one JSON object")),
		Subcommands: []*urfave.Command{clearCommand(own, out)},
		Action: func(c *urfave.Context) error {
			if err := noSubcommand(c); err != nil {
				return err
			}
			return flags.with(c, func(v *inspection) error {
				members, err := asked(c.Context, v, v.Members)
				if err != nil {
					return err
				}
				return show(c.App.Writer, c.Bool(jsonName), cluster.ClaimsOf(v.cluster, v.now(), members))
			})
		},
	})
}

func clearCommand(own paths, out *outside) *urfave.Command {
	return actingCommand(own, out, &urfave.Command{
		Name:      "clear",
		Usage:     "delete a stale claim, which frees its worker ID",
		ArgsUsage: "CLAIM",
		Description: "Use it for a claim whose daemon is gone for good and whose session does not expire. CLAIM is its name in `flakeward claims`.\n" +
			"If the daemon lives after all, it claims the worker ID again, or another one if somebody was faster. No ID is issued\n" +
			"twice: the next daemon with this worker ID issues only IDs above its ceiling.\n" +
			coordinatorSource,
	}, "claims clear takes the name of one claim: see flakeward claims", (*operatorFlags).inspect, func(c *urfave.Context, v *inspection, name string) error {
		members, err := asked(c.Context, v, v.Members)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(members, func(m coord.Member) bool { return m.Claim == name })
		if at < 0 && !c.Bool(yesName) {
			// One that owns no worker ID may be there. More likely the name is mistyped, so nobody
			// is asked about a claim that cannot be shown.
			return fmt.Errorf("no worker ID is owned by a claim of the name %q: see flakeward claims; --yes clears one that owns none", name)
		}
		if at >= 0 {
			if _, err := fmt.Fprintf(c.App.Writer, "cluster  %s at %s\nclaim    %s\n         %s\n"+
				"A daemon that is alive claims it again, or another worker ID; what it was granted stays, and nothing is issued twice.\n",
				v.cluster.UUID, v.where, name, cluster.Claimant(v.cluster, v.now(), members[at])); err != nil {
				return err
			}
			if err := out.confirm(c, "Clear it?"); err != nil {
				return err
			}
		}
		if err := v.ask(c.Context, func(ctx context.Context) error { return v.Clear(ctx, name) }); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.App.Writer, "cleared: %s\n", cluster.Plain(name))
		return err
	})
}
