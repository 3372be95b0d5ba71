package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/info"
)

func statusCommand(own paths) *urfave.Command {
	flags := newClientFlags(own)
	return withConfig(&urfave.Command{
		Name:  "status",
		Usage: "show how the daemon on this host is",
		Description: fmt.Sprintf("Ends with status 0 if the daemon can issue IDs, %d if it answers but cannot, %d if nobody answers.",
			ExitNotReady, ExitFailed),
		Flags: append(flags.flags(), jsonFlag("print one JSON object: sections, keys, values as texts")),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			client := flags.open(c.Context)
			defer client.close()
			in, err := client.status(c.Context)
			if err != nil {
				return err
			}
			show := showInfo
			if c.Bool(jsonName) {
				show = showInfoJSON
			}
			if err := show(c.App.Writer, in); err != nil {
				return fmt.Errorf("writing the status: %w", err)
			}
			return readiness(in)
		},
	})
}

// readiness is an error if the daemon cannot issue IDs, with what it says about
// the reason.
func readiness(in info.Info) error {
	if in.Ready() {
		return nil
	}
	state, ok := in.Get(info.State)
	if !ok {
		return fmt.Errorf("%w: it does not tell its state", errNotReady)
	}
	if trouble, _ := in.Get(info.Trouble); trouble != "" {
		return fmt.Errorf("%w: %s: %s", errNotReady, state, trouble)
	}
	return fmt.Errorf("%w: %s", errNotReady, state)
}

// showInfo prints a block for each section.
func showInfo(out io.Writer, in info.Info) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for i, section := range in {
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

func showInfoJSON(out io.Writer, in info.Info) error {
	sections := make(map[string]map[string]string)
	for _, section := range in {
		entries := sections[section.Name]
		if entries == nil {
			entries = make(map[string]string)
			sections[section.Name] = entries
		}
		for _, entry := range section.Entries {
			entries[entry.Key] = entry.Value
		}
	}
	return json.NewEncoder(out).Encode(sections)
}

const jsonName = "json"

func jsonFlag(usage string) urfave.Flag {
	return &urfave.BoolFlag{Name: jsonName, Usage: usage}
}
