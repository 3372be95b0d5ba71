package cli

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/layouts"
)

func decodeCommand(own paths) *urfave.Command {
	flags := newLayoutFlags(own)
	return withConfig(&urfave.Command{
		Name:        "decode",
		Usage:       "decode IDs: time, worker, sequence number, other forms",
		ArgsUsage:   "ID... (or -, to read them from standard input)",
		Description: formSource + "\n" + layoutSource,
		Flags:       append(flags.flags(), asFlag("read the IDs in this `FORM`"), jsonFlag("print one JSON object per line")),
		Action: func(c *urfave.Context) error {
			words, err := wordsOf(c)
			if err != nil {
				return err
			}
			ids, err := flags.ids(c)
			if err != nil {
				return err
			}
			out, table := bufio.NewWriter(c.App.Writer), newIDTable(ids)
			err = words.each(func(word string, rounded bool) (wrong, err error) {
				id, parts, wrong := ids.parse(word)
				switch {
				case wrong != nil:
					return wrong, nil
				case c.Bool(jsonName):
					return nil, json.NewEncoder(out).Encode(ids.object(id, parts, rounded))
				case words.good == 0:
					table.line(out, table.titles, "")
				}
				table.row(out, id, parts, rounded)
				return nil, nil
			})
			if flushing := out.Flush(); flushing != nil {
				err = errors.Join(err, fmt.Errorf("writing what was decoded: %w", flushing))
			}
			if err != nil {
				return err
			}
			if !c.Bool(jsonName) { // its objects say so themselves
				words.sayRounded()
			}
			return words.verdict("decoded")
		},
	})
}

// object is an ID as JSON, with its other forms.
func (i *ids) object(id int64, parts generator.Parts, rounded bool) layouts.Decoded {
	d := layouts.Decode(i.layout, id, parts, rounded)
	d.Base62 = string(i.coder.Append(nil, form.Base62, id))
	if i.coder.Can(form.UUID) == nil {
		d.UUID = string(i.coder.Append(nil, form.UUID, id))
	}
	return d
}
