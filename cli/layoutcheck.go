package cli

import (
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord/connect"
)

func layoutCheckCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:      "check",
		Usage:     "compare layouts, epochs, datacenters and worker ranges of clusters, and find two that can issue the same ID",
		ArgsUsage: "COORD COORD...",
		Description: "COORD is a coordinator's URL as in the daemon's --coord. Each is asked for its cluster's record, and nothing is written.\n" +
			"Clusters that share a number space have one layout, with a datacenter field, and a datacenter of their own each;\n" +
			"or one layout, and a --worker-range of their own each, until one is widened.\n" +
			fmt.Sprintf("Ends with status 0 if no two can issue the same ID, %d if some can, %d if one cannot be asked. TLS, user and password are\n"+
				"the same for all coordinators; a URL may have a user of its own.\n", ExitMeet, ExitFailed),
		Flags: append(flags.distant(), jsonFlag("print one JSON object")),
		Action: func(c *urfave.Context) error {
			if c.NArg() < 2 {
				return usagef("layout check compares two clusters or more: give the URLs of their coordinators")
			}
			for i, url := range c.Args().Slice() {
				if _, err := connect.Describe(url); err != nil {
					return usagef("coordinator %d: %w", i+1, err)
				}
			}
			var all []cluster.Found
			for _, url := range c.Args().Slice() {
				flags.settings.daemon.Cluster.Coord = url
				err := flags.with(c, func(v *inspection) error {
					all = append(all, cluster.Found{Coordinator: v.where, Cluster: v.cluster})
					return nil
				})
				if err != nil {
					return err
				}
			}
			compared, err := cluster.Compare(all)
			if err != nil {
				return err
			}
			if err := show(c.App.Writer, c.Bool(jsonName), compared); err != nil {
				return err
			}
			if len(compared.Meet) > 0 {
				return errMeet
			}
			return nil
		},
	})
}

// distant are the flags of a command whose coordinators are its arguments.
func (f *operatorFlags) distant() []urfave.Flag {
	var flags []urfave.Flag
	for _, flag := range f.flags() {
		if name := flag.Names()[0]; name != coordName && name != socketName {
			flags = append(flags, flag)
		}
	}
	return flags
}
