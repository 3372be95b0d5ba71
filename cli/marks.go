package cli

import (
	"context"
	"encoding/json"
	"errors"
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
		Usage: "show how far each worker ID was granted, or raise it after a restore",
		Description: "One line for each worker ID that was ever held: its ceiling, which is at or above each ID that was issued, and that against\n" +
			"the clock; the last tick and the mark that its last holder published; and the claim that holds it now.\n" +
			coordinatorSource,
		Flags:       append(flags.flags(), jsonFlag("print one JSON object")),
		Subcommands: []*urfave.Command{raiseCommand(own, out)},
		Action: func(c *urfave.Context) error {
			if err := noSubcommand(c); err != nil {
				return err
			}
			return flags.with(c, func(v *inspection) error {
				marks, err := v.marks(c.Context)
				if err != nil {
					return err
				}
				members, err := v.members(c.Context)
				if err != nil {
					return err
				}
				return show(c.App.Writer, c.Bool(jsonName), cluster.MarksOf(v.cluster, v.now(), marks, members))
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

// raising is one run of marks raise.
type raising struct {
	*inspection
	to     generator.Tick
	limits cluster.Limits
	near   string // why to may not be late enough; empty: it is
}

func raiseCommand(own paths, out *outside) *urfave.Command {
	flags := newOperatorFlags(own, out)
	furthest, by := cluster.Furthest, cluster.Margin
	return withConfig(&urfave.Command{
		Name:  "raise",
		Usage: "block issuing until a future time: after the coordinator was restored from a backup",
		Description: "A coordinator that was restored from a backup does not know what it granted since, and would grant it again. This raises the\n" +
			"ceilings of all worker IDs in one step, gives every record a holder that no journal knows, and ends all claims.\n" +
			"Until that time IDs are issued only by daemons whose grant, from before the restore, has not ended.\n" +
			"The time has to be later than all that any daemon may have been granted since the backup was made: now and the\n" +
			"largest --window in use at the least. The cluster's record has the largest that any daemon has joined with. Unless told,\n" +
			"the time is that and " + cluster.Span(cluster.Margin) + " from now, and later than every ceiling there is. One that is less than that window from now,\n" +
			"or before a ceiling there is, has to be forced: IDs may be issued twice then. A larger window that has joined only since\n" +
			"the backup is not in it, and a record of an earlier version has none: give --by, the largest --window and a margin.\n" +
			"This host's clock decides where that is: see first that it is right.\n" +
			"Nothing lowers a mark again.\n" +
			"Afterwards, start the daemons again that say that the coordinator was restored; the others claim again by themselves.\n" +
			coordinatorSource,
		Flags: append(flags.flags(),
			&urfave.StringFlag{Name: "to", Usage: "raise to this `TIME`: RFC 3339 (2026-05-01T12:00:00Z), without a zone (UTC), or a date (midnight UTC)"},
			&urfave.GenericFlag{Name: "by", Value: (*duration)(&by), DefaultText: "the largest --window and 5m, or more to be above every ceiling", Usage: "raise to this long from now"},
			&urfave.GenericFlag{Name: "max", Value: (*duration)(&furthest), Usage: "refuse to raise to a time that is further from now"},
			&urfave.BoolFlag{Name: "force", Usage: "raise beyond --max, or to a time that may not be late enough, all the same"},
			yesFlag(),
		),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			if c.IsSet("to") && c.IsSet("by") {
				return usagef("--to and --by both say how far to raise: give one of them")
			}
			return flags.with(c, func(v *inspection) error {
				marks, err := v.marks(c.Context)
				if err != nil {
					return err
				}
				r := raising{inspection: v, limits: cluster.Limits{Marks: marks, Furthest: furthest, Forced: c.Bool("force")}}
				if err := r.aim(c, by); err != nil {
					return err
				}
				if err := r.announce(c.App.Writer); err != nil {
					return err
				}
				if r.near != "" {
					fmt.Fprintf(c.App.ErrWriter, "flakeward: warning: %s\n", r.near)
				}
				if err := out.confirm(c, "Raise them?"); err != nil {
					return err
				}
				return r.raise(c.Context, c.App.Writer)
			})
		},
	})
}

// aim finds the tick to raise to.
func (r *raising) aim(c *urfave.Context, by time.Duration) error {
	now := r.now()
	to, hint := r.cluster.Target(now, r.limits.Marks), ""
	var at time.Time
	switch {
	case c.IsSet("to"):
		var err error
		if at, err = instant.Parse(c.String("to"), r.now); err != nil {
			return usagef("--to: %w", err)
		}
	case c.IsSet("by"):
		at = now.Add(by)
	default:
		if r.cluster.Window == 0 {
			return usagef("the marks are not raised: the cluster's record does not say the largest --window in use, for no daemon of a version that stores it has joined; "+
				"give --by, the largest --window of all daemons and %s more, with --force if that is less than %v", cluster.Span(cluster.Margin), cluster.Widest)
		}
		if highest, end, ok := cluster.Blocking(r.limits.Marks, to-1); ok && to == end+1 {
			hint = fmt.Sprintf("; it is the ceiling of worker ID %d: an earlier --to or --by, with --force, leaves that one as it is", highest.Worker)
		}
	}
	if !at.IsZero() {
		var err error
		if to, err = r.cluster.TickOf(at); err != nil {
			return &usageError{err}
		}
	}
	if err := r.cluster.CheckTarget(to, now, r.limits); err != nil {
		return usagef("the marks are not raised: %w%s", err, hint)
	}
	r.to, r.near = to, r.cluster.TooNear(to, now, r.limits.Marks)
	return nil
}

// announce says what would be done.
func (r raising) announce(out io.Writer) error {
	layout, now, marks := r.cluster.Layout, r.now(), r.limits.Marks
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
	if r.cluster.Window > 0 {
		row("window", "%s is the largest that a daemon has joined with", cluster.Span(r.cluster.Window))
	}
	row("pause", "no daemon issues IDs until then, once its next publish has told it, or its grant from before has ended")
	row("records", "%d of %d worker IDs; %d are held, by claims that end now", len(marks), r.cluster.Workers, held)
	if highest, ok := cluster.Highest(marks); ok {
		ceiling := layout.StartOf(highest.Ceiling)
		row("highest", "%s, %s: the ceiling of worker ID %d", cluster.Time(ceiling), cluster.Signed(ceiling.Sub(now)), highest.Worker)
	}
	if above := cluster.Above(marks, r.to); above > 0 {
		row("later", "worker IDs whose ceiling is later already: %d; each is unusable until its own has passed", above)
	}
	_, err := io.WriteString(out, text.String())
	return err
}

// raise does it, and says what to do next.
func (r raising) raise(ctx context.Context, out io.Writer) error {
	var raised coord.Raised
	err := r.ask(ctx, func(ctx context.Context) (err error) {
		raised, err = r.Raise(ctx, r.to)
		return err
	})
	if errors.Is(err, coord.ErrOtherCluster) {
		return err
	}
	if err != nil {
		return fmt.Errorf("whether the marks were raised is not known, and to raise them twice does no harm: run it again: %w", err)
	}
	layout, now := r.cluster.Layout, r.now()
	from := layout.StartOf(raised.To + 1)
	var later string
	if raised.Highest > raised.To && cluster.Above(r.limits.Marks, raised.To) > 0 {
		later = fmt.Sprintf("; not by worker IDs whose own ceiling is later, of which the latest is %s", cluster.Time(layout.StartOf(raised.Highest)))
	}
	_, err = fmt.Fprintf(out, "\nraised: every worker ID's ceiling is %s or later\n"+
		"IDs are issued again from %s on, %s from now%s\n"+
		"next: start the daemons again that say that the coordinator was restored (`flakeward status` on their hosts); the others go on by themselves\n",
		cluster.Time(layout.StartOf(raised.To)), cluster.Time(from), cluster.Span(max(0, from.Sub(now))), later)
	return err
}
