package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"time"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/instant"
	"github.com/flakeward/flakeward/internal/layouts"
)

const (
	timeUsage = "A TIME is RFC 3339 (2026-05-01T12:00:00Z), the same without a zone (UTC), a date (midnight UTC), now, or\n" +
		"relative to now: -1h, -90s, -7d, +30m."
)

func boundsCommand(own paths) *urfave.Command {
	flags := newLayoutFlags(own)
	return withConfig(&urfave.Command{
		Name:  "bounds",
		Usage: "print the lowest and highest ID of a time range",
		Description: "Use it for range scans on a primary key: id >= from AND id < below finds the IDs of all workers, datacenters and\n" +
			"tenants in the range. The end is not part of it: --from 2026-11-21 --to 2026-11-22 finds no ID of the 22nd.\n" +
			timeUsage + "\n" + layoutSource,
		Flags: append(flags.flags(), asFlag("write the bounds in this `FORM`"),
			&urfave.StringFlag{Name: "from", Usage: "begin the range at this `TIME`"},
			&urfave.StringFlag{Name: "to", Value: "now", Usage: "end the range before this `TIME`"},
			jsonFlag("print one JSON object"),
		),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			now := time.Now() // one for both ends
			from, err := timeFlag(c, "from", now)
			if err != nil {
				return err
			}
			to, err := timeFlag(c, "to", now)
			if err != nil {
				return err
			}
			ids, err := flags.ids(c)
			if err != nil {
				return err
			}
			first, below, err := ids.layout.Bounds(from, to)
			if err != nil {
				return &usageError{err}
			}
			if _, err := ids.layout.Decompose(below); err != nil && ids.form == form.UUID {
				return usagef("the end %s is after the last tick of layout %s, and the cluster has no UUID above that: take an end up to %s, or id >= '%s' alone",
					to.UTC().Format(time.RFC3339), ids.layout, ids.layout.StartOf(ids.layout.MaxTick()).Format(layouts.TimeFormat(ids.layout)), ids.text(first))
			}
			if first == below {
				fmt.Fprintf(c.App.ErrWriter, "flakeward: the span is within a tick of %v, so no ID has a time in it: take a longer one\n", ids.layout.TickLength())
			}
			b := bounds{From: ids.text(first), Below: ids.text(below), FromTime: startOf(ids.layout, first), BelowTime: startOf(ids.layout, below)}
			if c.Bool(jsonName) {
				return json.NewEncoder(c.App.Writer).Encode(b)
			}
			quote := ""
			switch ids.form {
			case form.Base62, form.UUID:
				quote = "'"
			}
			return b.print(c.App.Writer, quote)
		},
	})
}

// bounds are the IDs from From on and below Below, and the times of the ticks at which they begin.
type bounds struct {
	From      string `json:"from"`
	Below     string `json:"below"`
	FromTime  string `json:"from_time"`
	BelowTime string `json:"below_time"`
}

// print prints the bounds, and a condition for SQL in which each stands between two quote.
func (b bounds) print(out io.Writer, quote string) error {
	width := max(len(b.From), len(b.Below))
	_, err := fmt.Fprintf(out, "from   %-*s  %s\nbelow  %-*s  %s\n\nid >= %[7]s%[2]s%[7]s AND id < %[7]s%[5]s%[7]s\n",
		width, b.From, b.FromTime, width, b.Below, b.BelowTime, quote)
	return err
}

// startOf is when the tick begins that a bound is of, in a layout whose highest field is time.
func startOf(layout *generator.Layout, bound int64) string {
	below := 0
	for _, f := range layouts.Numbers(layout) {
		below += layout.Bits(f)
	}
	return layout.StartOf(generator.Tick(bound >> below)).Format(layouts.TimeFormat(layout))
}

// timeFlag reads a flag that must be given.
func timeFlag(c *urfave.Context, name string, now time.Time) (time.Time, error) {
	text := c.String(name)
	if text == "" {
		return time.Time{}, usagef("--%s is missing: give the span's times, such as --from 2026-05-01 --to 2026-05-02", name)
	}
	t, err := instant.Parse(text, func() time.Time { return now })
	if err != nil {
		return time.Time{}, usagef("--%s: %w", name, err)
	}
	return t, nil
}
