package cli

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	urfave "github.com/urfave/cli/v2"
)

func boundsCommand(own paths) *urfave.Command {
	flags := newLayoutFlags(own)
	return withConfig(&urfave.Command{
		Name:  "bounds",
		Usage: "print the lowest and the highest ID of a span of time",
		Description: "For range scans on a primary key: WHERE id BETWEEN lowest AND highest finds every ID issued\n" +
			"in the span, both ends included, and none of other ticks.\n" +
			"A time is RFC 3339 (2026-05-01T12:00:00Z), the same without a zone (UTC), a date (midnight UTC), or now.\n" +
			layoutSource,
		Flags: append(flags.flags(),
			&urfave.StringFlag{Name: "from", Usage: "first `TIME` of the span"},
			&urfave.StringFlag{Name: "to", Usage: "last `TIME` of the span"},
			jsonFlag("print one JSON object"),
		),
		Action: func(c *urfave.Context) error {
			if err := noArguments(c); err != nil {
				return err
			}
			from, err := timeFlag(c, "from")
			if err != nil {
				return err
			}
			to, err := timeFlag(c, "to")
			if err != nil {
				return err
			}
			layout, err := flags.layout(c)
			if err != nil {
				return err
			}
			lowest, highest, err := layout.Bounds(from, to)
			if err != nil {
				return &usageError{err}
			}
			if c.Bool(jsonName) {
				return json.NewEncoder(c.App.Writer).Encode(map[string]string{
					"lowest": strconv.FormatInt(lowest, 10), "highest": strconv.FormatInt(highest, 10),
				})
			}
			_, err = fmt.Fprintf(c.App.Writer, "lowest   %d\nhighest  %d\n", lowest, highest)
			return err
		},
	})
}

// timeFlag reads a flag that must be given.
func timeFlag(c *urfave.Context, name string) (time.Time, error) {
	text := c.String(name)
	if text == "" {
		return time.Time{}, usagef("--%s is missing: give the span's times, such as --from 2026-05-01 --to 2026-05-02", name)
	}
	t, err := parseTime(text, time.Now)
	if err != nil {
		return time.Time{}, usagef("--%s: %w", name, err)
	}
	return t, nil
}

func parseTime(text string, now func() time.Time) (time.Time, error) {
	if text == "now" {
		return now(), nil
	}
	for _, form := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", time.DateOnly} {
		if t, err := time.Parse(form, text); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is not a time: write 2026-05-01T12:00:00Z, 2026-05-01, or now", text)
}
