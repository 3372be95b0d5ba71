package cli

import (
	"context"
	"fmt"
	"io"
	"os"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
)

func clusterCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:        "cluster",
		Usage:       "show, create or change the coordinator's cluster, raise its marks after a restore, export or import it, add worker IDs, or adopt a copied directory",
		Description: "Without a command, it prints the UUID, the layout, the worker IDs that are assigned, and the window.\n" + coordinatorSource,
		Flags:       flags.flags(),
		Subcommands: []*urfave.Command{createCommand(own, out), marksCommand(own, out), raiseCommand(own, out), exportCommand(own, out), importCommand(own, out), setCommand(own, out), widenCommand(own, out), adoptCommand(own, out)},
		Action: func(c *urfave.Context) error {
			if err := noSubcommand(c); err != nil {
				return err
			}
			return flags.with(c, func(v *inspection) error {
				_, err := fmt.Fprintf(c.App.Writer, "cluster  %s at %s\nlayout   %s\nworkers  %v of %d\nwindow   %s\n",
					v.cluster.UUID, v.where, v.cluster.Layout, v.cluster.Range, v.cluster.Workers, cluster.Span(v.cluster.Window))
				return err
			})
		},
	})
}

func exportCommand(own paths, out *outside) *urfave.Command {
	return actingCommand(own, out, &urfave.Command{
		Name:      "export",
		Usage:     "write the cluster into a file, for another coordinator; this one grants nothing from then on",
		ArgsUsage: "FILE|-",
		Description: "First the cluster record says that the cluster was exported: no daemon can write there any more, and each issues to the end\n" +
			"of its grant, up to a --window. Then all records are read. This cannot be taken back; done again, it gives the same bytes.\n" +
			"Import the file at one other coordinator, or at another prefix, and start the daemons with that as their --coord.\n" +
			coordinatorSource,
	}, "cluster export takes the file to write, or - for standard output", (*operatorFlags).open, func(c *urfave.Context, v *inspection, path string) error {
		if err := out.confirm(c, fmt.Sprintf("Export the cluster at %s? It grants nothing from then on.", v.where)); err != nil {
			return err
		}
		return v.export(c, path)
	})
}

// export writes the file. It tries that before: a file that cannot be written must not stop a
// cluster.
func (v *inspection) export(c *urfave.Context, path string) error {
	if path != "-" {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600)
		if err == nil {
			err = file.Close()
		}
		if err != nil {
			return fmt.Errorf("nothing was exported: %w", err)
		}
	}
	all, err := changed(c.Context, v, v.Export)
	if err != nil {
		return err
	}
	if path == "-" {
		_, err = c.App.Writer.Write(all)
	} else {
		err = os.WriteFile(path, all, 0o600)
	}
	if err != nil {
		return fmt.Errorf("the cluster is exported, and the file was not written: run the command again: %w", err)
	}
	_, err = fmt.Fprintf(c.App.ErrWriter, "exported: %s grants nothing any more, and daemons issue to the end of their grants\n"+
		"next: flakeward cluster import --coord URL %s, then start each daemon with that --coord\n", v.where, path)
	return err
}

func importCommand(own paths, out *outside) *urfave.Command {
	return actingCommand(own, out, &urfave.Command{
		Name:      "import",
		Usage:     "make the cluster of an export at a coordinator that has none",
		ArgsUsage: "FILE|-",
		Description: "--coord names the coordinator, with an empty prefix or chroot. The cluster keeps its UUID, layout, worker IDs, marks and\n" +
			"histories, and is served once all is there. An import that was interrupted is run again.\n" +
			"Import a file at one place only: two would be two clusters that issue the same IDs.",
	}, "cluster import takes the file that cluster export wrote, or - for standard input", (*operatorFlags).open, func(c *urfave.Context, v *inspection, path string) error {
		all, err := read(c, path)
		if err != nil {
			return err
		}
		if err := out.confirm(c, fmt.Sprintf("Import the cluster at %s? It may be imported at one place only.", v.where)); err != nil {
			return err
		}
		return v.importAll(c, all)
	})
}

// importAll makes the cluster of an export.
func (v *inspection) importAll(c *urfave.Context, all []byte) error {
	if err := v.change(c.Context, func(ctx context.Context) error { return v.Import(ctx, all) }); err != nil {
		return err
	}
	if err := v.join(c.Context); err != nil {
		return err
	}
	_, err := fmt.Fprintf(c.App.Writer, "imported: cluster %s is at %s\nnext: start each daemon with --coord %s before its grant ends\n", v.cluster.UUID, v.where, v.where)
	return err
}

func read(c *urfave.Context, path string) ([]byte, error) {
	if path == "-" {
		return io.ReadAll(c.App.Reader)
	}
	return os.ReadFile(path)
}
