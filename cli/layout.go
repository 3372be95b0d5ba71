package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/dustin/go-humanize"
	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/layouts"
)

func layoutCommand() *urfave.Command {
	layoutText := generator.DefaultLayout
	return withConfig(&urfave.Command{
		Name:      "layout",
		Usage:     "show a layout: its fields, its rate of IDs, its end",
		ArgsUsage: "[LAYOUT]",
		Description: "A layout is the name of a preset (twitter), a preset with another epoch (twitter;epoch=2026-01-01),\n" +
			"or the full form, fields from the highest bits down (time=41@1ms,worker=10,sequence=12;epoch=2026-01-01).",
		Flags: []urfave.Flag{
			&urfave.BoolFlag{Name: "list", Usage: "list the presets"},
			&urfave.StringFlag{Name: "layout", Destination: &layoutText, Value: layoutText, Usage: "show this `LAYOUT`, as the argument does"},
			jsonFlag("print one JSON object, or a list of them with --list"),
		},
		Action: func(c *urfave.Context) error {
			if c.Bool("list") {
				if err := noArguments(c); err != nil {
					return err
				}
				return listPresets(c.App.Writer, time.Now(), c.Bool(jsonName))
			}
			if c.NArg() > 1 {
				return usagef("layout takes one layout, but got %q too: put quotes around one with a semicolon", c.Args().Get(1))
			}
			if c.Args().Present() {
				layoutText = c.Args().First()
			}
			layout, err := parseLayout(layoutText)
			if err != nil {
				return err
			}
			facts := layouts.Of(layout, time.Now())
			if c.Bool(jsonName) {
				return json.NewEncoder(c.App.Writer).Encode(facts)
			}
			return showFacts(c.App.Writer, facts)
		},
	})
}

// showFacts prints a layout's facts for people.
func showFacts(out io.Writer, f layouts.Facts) error {
	fmt.Fprintf(out, "%s\n\n", f.Layout)
	fields := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(fields, "field\tbits\tshift\thighest\t")
	for _, field := range f.Fields {
		fmt.Fprintf(fields, "%s\t%d\t%d\t%d\t\n", field.Field, field.Bits, field.Shift, field.Highest)
	}
	if err := fields.Flush(); err != nil {
		return err
	}

	fmt.Fprintln(out)
	// 2^53 - 1 is the largest integer that JavaScript (ECMA-262, Number.MAX_SAFE_INTEGER) and other
	// users of float64 keep.
	inJavaScript := ", to be kept as strings in JavaScript"
	if f.Bits <= 53 {
		inJavaScript = ", safe as numbers in JavaScript"
	}
	left := fmt.Sprintf("%.1f years from now", f.YearsLeft)
	if f.YearsLeft < 0 {
		left = fmt.Sprintf("%.1f years ago", -f.YearsLeft)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	row := func(name, format string, args ...any) {
		fmt.Fprintf(table, "%s\t%s\n", name, fmt.Sprintf(format, args...))
	}
	row("bits", "%d%s", f.Bits, inJavaScript)
	row("tick", "%s", f.Tick)
	row("IDs", "%s a second and worker ID (%d a tick), %s with all worker IDs",
		thousands(f.IDsPerSecond), f.IDsPerTick, thousands(f.IDsPerSecond*float64(f.Workers)))
	row("worker IDs", "%s", thousands(float64(f.Workers)))
	row("begins", "%s", f.Begins.Format(time.RFC3339Nano))
	row("ends", "%s, %s", f.Ends.Format(time.RFC3339Nano), left)
	if f.SortsByTime {
		row("order", "by time")
	} else {
		row("order", "not by time: time is not the highest field")
	}
	if f.Problem != nil {
		row("issues", "no: %v", f.Problem)
	}
	return table.Flush()
}

// thousands writes a number with commas between its thousands, to the hundredth.
func thousands(v float64) string { return humanize.CommafWithDigits(v, 2) }

func listPresets(out io.Writer, now time.Time, asJSON bool) error {
	var all []layouts.Facts
	for _, name := range generator.Presets() {
		layout, err := generator.ParseLayout(name)
		if err != nil {
			return err
		}
		f := layouts.Of(layout, now)
		f.Name = name
		all = append(all, f)
	}
	if asJSON {
		return json.NewEncoder(out).Encode(all)
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "preset\tends\tlayout")
	for _, f := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\n", f.Name, f.Ends.Format(time.DateOnly), f.Layout)
	}
	return table.Flush()
}
