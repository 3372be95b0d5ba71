package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/cli/cluster"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/instant"
)

func marksCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	return withConfig(&urfave.Command{
		Name:  "marks",
		Usage: "show how far each worker ID was granted",
		Description: "Says how many worker IDs are held, rest and are free, and how many daemons would wait if all hosts lost power now.\n" +
			"Prints one line for each worker ID with a record: its ceiling, which no issued ID is above, also relative to the clock;\n" +
			"the last tick that its last holder published as issued; and its current claim.\n" +
			coordinatorSource,
		Flags: append(flags.flags(), jsonFlag("print one JSON object"), &urfave.PathFlag{
			Name: "textfile", Usage: "write what is held, rests and is free to this `FILE`, for node_exporter's textfile collector, and print nothing",
		}),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			return flags.with(c, func(v *inspection) error {
				marks, err := asked(c.Context, v, v.Marks)
				if err != nil {
					return err
				}
				members, err := asked(c.Context, v, v.Members)
				if err != nil {
					return err
				}
				all := cluster.MarksOf(v.cluster, v.now(), marks, members)
				if file := c.Path("textfile"); file != "" {
					if err := all.Textfile(file); err != nil {
						return fmt.Errorf("writing --textfile %s: %w", file, err)
					}
					return nil
				}
				return show(c.App.Writer, c.Bool(jsonName), all)
			})
		},
	})
}

// show prints what was found out, for people or in JSON.
func show(out io.Writer, asJSON bool, found interface{ Table(io.Writer) error }) error {
	var err error
	if asJSON {
		err = json.NewEncoder(out).Encode(found)
	} else {
		err = found.Table(out)
	}
	if err != nil {
		return fmt.Errorf("writing what was found: %w", err)
	}
	return nil
}

// raising is one run of cluster raise.
type raising struct {
	*inspection
	to    generator.Tick
	marks []coord.Mark
	near  string // why to may not be late enough; empty: it is
}

func raiseCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	furthest, by := cluster.Furthest, cluster.Margin
	return withConfig(&urfave.Command{
		Name:  "raise",
		Usage: "stop issuing until a given time, after the coordinator was restored from a backup",
		Description: "A coordinator that was restored from a backup does not know its newer grants, and would grant the same times again. This\n" +
			"command raises the ceilings of all worker IDs in one step: claims from before end.\n" +
			"A daemon issues no IDs until the given time, once its next publish has told it or its grant from before has ended.\n" +
			"The time must be later than every grant since the backup: at least now plus the longest window that the cluster ever had.\n" +
			"The cluster's record has that. It counts as " + cluster.Span(cluster.LeastWindow) + " at least. The default is that plus " + cluster.Span(cluster.Margin) + " from now.\n" +
			"An earlier time needs --force; IDs may then be issued twice. A longer window that was set only since the backup is not in\n" +
			"the record: then give --begin, that window plus a margin.\n" +
			"The command goes by this host's clock, and refuses where the kernel does not call that synchronised, unless --yes is given.\n" +
			"Nothing lowers a mark again.\n" +
			"Afterwards, restart the daemons that log that the coordinator was restored. The others claim again without a restart.\n" +
			coordinatorSource,
		Flags: append(append(flags.flags(),
			&urfave.StringFlag{Name: "to", Usage: "raise to this `TIME`: RFC 3339 (2026-05-01T12:00:00Z), UTC without a zone, or a date (midnight UTC)"},
		), raisingFlags(&by, &furthest)...),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if c.IsSet("to") && c.IsSet("begin") {
				return usagef("--to and --begin both say how far to raise: give one of them")
			}
			return flags.with(c, func(v *inspection) error {
				r, err := v.aimed(c, out, by, furthest)
				if err != nil {
					return err
				}
				if err := out.confirm(c, "Raise them?"); err != nil {
					return err
				}
				return r.raise(c.Context, c.App.Writer)
			})
		},
	})
}

// raisingFlags say how far to raise: --begin, --max and --force; and --yes.
func raisingFlags(by, furthest *time.Duration) []urfave.Flag {
	return []urfave.Flag{
		&urfave.DurationFlag{Name: "begin", Destination: by, Value: *by, DefaultText: "the longest window plus 5m", Usage: "raise to this `DURATION` from now"},
		&urfave.DurationFlag{Name: "max", Destination: furthest, Value: *furthest, Usage: "refuse to raise further than this `DURATION` from now"},
		&urfave.BoolFlag{Name: "force", Usage: "raise beyond --max, or to a time that may be too early"},
		yesFlag(),
	}
}

// aimed finds the tick to raise to, and says what would be done.
func (v *inspection) aimed(c *urfave.Context, out *outside, by, furthest time.Duration) (raising, error) {
	if !out.synchronised() && !c.Bool(yesName) {
		return raising{}, usagef("the kernel does not call this host's clock synchronised, and IDs are issued from a time by that clock on: set it right, or give --yes if it is")
	}
	marks, err := asked(c.Context, v, v.Marks)
	if err != nil {
		return raising{}, err
	}
	r := raising{inspection: v, marks: marks}
	if err := r.aim(c, by, furthest); err != nil {
		return raising{}, err
	}
	if err := r.announce(c.App.Writer); err != nil {
		return raising{}, err
	}
	if r.near != "" {
		fmt.Fprintf(c.App.ErrWriter, "flakeward: warning: %s\n", r.near)
	}
	return r, nil
}

// aim finds the tick to raise to.
func (r *raising) aim(c *urfave.Context, by, furthest time.Duration) error {
	now := r.now()
	to := r.cluster.Target(now)
	var at time.Time
	switch {
	case c.IsSet("to"):
		var err error
		if at, err = instant.Parse(c.String("to"), r.now); err != nil {
			return usagef("--to: %w", err)
		}
	case c.IsSet("begin"):
		at = now.Add(by)
	}
	if !at.IsZero() {
		var err error
		if to, err = r.cluster.TickOf(at); err != nil {
			return &usageError{err}
		}
	}
	if err := r.cluster.CheckTarget(to, now, furthest, c.Bool("force")); err != nil {
		return usagef("the marks are not raised: %w", err)
	}
	r.to, r.near = to, r.cluster.TooNear(to, now)
	return nil
}

// announce says what would be done.
func (r raising) announce(out io.Writer) error {
	layout, now, marks := r.cluster.Layout, r.now(), r.marks
	at := layout.StartOf(r.to)
	held := 0
	for _, m := range marks {
		if m.Claim != "" {
			held++
		}
	}
	var text strings.Builder
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&text, "%-10s "+format+"\n", append([]any{name}, args...)...)
	}
	row("cluster", "%s at %s", r.cluster.UUID, r.where)
	row("raise to", "%s (tick %d), %s from now", cluster.Time(at), r.to, cluster.Span(at.Sub(now)))
	row("window", "%s is the longest that the cluster ever had", cluster.Span(r.cluster.Enough()))
	row("pause", "no daemon issues IDs until then, once its next publish has told it, or its grant from before has ended")
	row("records", "%d of %d worker IDs; %d are held, by claims that end now", len(marks), r.cluster.Workers, held)
	if highest, ok := cluster.Highest(marks); ok {
		ceiling := layout.StartOf(highest.Ceiling)
		row("highest", "%s, %s: the ceiling of worker ID %d", cluster.Time(ceiling), cluster.Signed(ceiling.Sub(now)), highest.Worker)
	}
	if above := cluster.Above(marks, r.to); above > 0 {
		row("later", "worker IDs whose ceiling is later already: %d; each is unusable until its own has passed. What a clock that far ahead was granted since the backup may be issued a second time: then raise above it", above)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// raise does it, and says what to do next.
func (r raising) raise(ctx context.Context, out io.Writer) error {
	raised, err := changed(ctx, r.inspection, func(ctx context.Context) (coord.Raised, error) { return r.Raise(ctx, r.to) })
	if err != nil {
		return err
	}
	layout, now := r.cluster.Layout, r.now()
	from := layout.StartOf(raised.To + 1)
	var later string
	if raised.Highest > raised.To && cluster.Above(r.marks, raised.To) > 0 {
		later = fmt.Sprintf("; not by worker IDs whose own ceiling is later, of which the latest is %s", cluster.Time(layout.StartOf(raised.Highest)))
	}
	_, err = fmt.Fprintf(out, "\nraised: every worker ID's ceiling is %s or later\n"+
		"IDs are issued again from %s on, %s from now%s\n"+
		"next: start the daemons again that say that the coordinator was restored (`flakeward status` on their hosts); the others go on by themselves\n",
		cluster.Time(layout.StartOf(raised.To)), cluster.Time(from), cluster.Span(max(0, from.Sub(now))), later)
	return err
}
