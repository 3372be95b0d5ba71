package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/internal/info"
)

func statusCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:  "status",
		Usage: "show the state of this host's daemon, or of the whole cluster",
		Description: fmt.Sprintf("Exits with status 0 if the daemon can issue IDs, %d if it answers but cannot, %d if no daemon listens,\n"+
			"%d after another failure, such as a refused connection.\n", ExitNotReady, ExitNoDaemon, ExitFailed) +
			"With --cluster, it asks the coordinator and no daemon, and prints one line for each member: its worker ID, the age of\n" +
			"its claim, its ceiling relative to the clock (how long it can issue without another grant), and the last tick that it\n" +
			"had issued at its last publish.\n" +
			fmt.Sprintf("A member whose grant has ended is %s. One whose ceiling is further ahead than any daemon asks for is %s:\n"+
				"a clock was wrong, or the window was longer then. One that is %s issues once the clock has passed the cluster's floor.\n"+
				"Exits with status 0 if the coordinator answers, %d if not.\n", cluster.Stopped, cluster.Ahead, cluster.Waiting, ExitFailed) +
			coordinatorSource,
		Flags: slices.Concat(flags.flags(), []urfave.Flag{
			&urfave.BoolFlag{Name: "cluster", Usage: "show all members, from the coordinator"},
			jsonFlag("print one JSON object: sections, keys, values; with --cluster, the members"),
		}),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if c.Bool("cluster") {
				return clusterStatus(c, flags)
			}
			return localStatus(c, flags.client)
		},
	})
}

// clusterStatus asks the coordinator once.
func clusterStatus(c *urfave.Context, flags *operatorFlags) error {
	return flags.with(c, func(v *inspection) error {
		members, err := asked(c.Context, v, v.Members)
		if err != nil {
			return err
		}
		return show(c.App.Writer, c.Bool(jsonName), cluster.StatusOf(v.cluster, v.now(), members))
	})
}

// localStatus asks the daemon on this host.
func localStatus(c *urfave.Context, flags *clientFlags) error {
	in, err := flags.status(c.Context)
	if err != nil {
		return err
	}
	if c.Bool(jsonName) {
		err = json.NewEncoder(c.App.Writer).Encode(in.Typed())
	} else {
		err = showInfo(c.App.Writer, in)
	}
	if err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return readiness(in)
}

// readiness is an error if the daemon cannot issue IDs, with what it says about the reason.
func readiness(in info.Info) error {
	if in.Ready() {
		return nil
	}
	state, ok := in.Get(info.State)
	if !ok {
		return fmt.Errorf("%w: it does not tell its state", errNotReady)
	}
	if condition, _ := in.Get(info.Condition); condition != "" {
		return fmt.Errorf("%w: %s: %s", errNotReady, state, condition)
	}
	return fmt.Errorf("%w: %s", errNotReady, state)
}

// forTools are the sections that say of a Redis server what is the same of every daemon.
var forTools = []string{"Persistence", "Replication", "Keyspace"}

// showInfo prints a block for each section, except for those that tell people nothing.
func showInfo(out io.Writer, in info.Info) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, section := range in {
		if slices.Contains(forTools, section.Name) {
			continue
		}
		if i > 0 {
			fmt.Fprintln(table)
		}
		if section.Name != "" {
			fmt.Fprintln(table, section.Name)
		}
		for _, entry := range section.Entries {
			fmt.Fprintf(table, "  %s\t%s\n", entry.Key, entry.Value)
		}
	}
	return table.Flush()
}

const jsonName = "json"

func jsonFlag(usage string) urfave.Flag {
	return &urfave.BoolFlag{Name: jsonName, Usage: usage}
}
