package cli

import (
	"bufio"
	"errors"
	"fmt"
	"strings"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/internal/form"
)

const (
	fromName = "from"
	toName   = "to"
)

// convertible are the forms that convert offers.
var convertible = strings.Join(form.Names(), ", ")

func convertCommand(own paths) *urfave.Command {
	flags, to := newLayoutFlags(own), &formValue{}
	return withConfig(&urfave.Command{
		Name:      "convert",
		Usage:     "write IDs in another form: --to " + convertible,
		ArgsUsage: "ID... (or -, to read them from standard input)",
		Description: "Prints one line for each ID. An ID is an integer or a UUID, or, with --from, of that form.\n" +
			"Only UUIDs need the layout and the cluster's UUID.\n" + layoutSource,
		Flags: append(flags.flags(),
			&urfave.GenericFlag{Name: toName, Value: to, Usage: "write IDs in this `FORM`: " + convertible},
			&urfave.GenericFlag{Name: fromName, Aliases: []string{asName}, Value: &formValue{}, Usage: "read the IDs in this `FORM`", DefaultText: "integer or uuid"},
		),
		Action: func(c *urfave.Context) error {
			if !to.named {
				return usagef("convert needs --%s FORM, one of %s", toName, convertible)
			}
			words, err := wordsOf(c)
			if err != nil {
				return err
			}
			out := bufio.NewWriter(c.App.Writer)
			v := converter{coder: &form.Coder{Flag: formFlag(c) + " "}, to: to.Form}
			v.from, v.named = formOf(c)
			err = words.each(func(word string, _ bool) (wrong, err error) {
				text, wrong := v.text(word)
				if errors.Is(wrong, form.ErrNoCluster) { // which a UUID that is read or written needs
					if v.coder, err = flags.clusterCoder(c, to.Form); err != nil {
						return nil, err
					}
					text, wrong = v.text(word)
				}
				if wrong == nil {
					_, err = out.Write(append(text, '\n'))
				}
				return wrong, err
			})
			if flushing := out.Flush(); err == nil && flushing != nil {
				err = fmt.Errorf("writing what was converted: %w", flushing)
			}
			if err != nil {
				return err
			}
			words.sayRounded()
			return words.verdict("converted")
		},
	})
}

// clusterCoder knows the cluster's UUID.
func (f *layoutFlags) clusterCoder(c *urfave.Context, to form.Form) (*form.Coder, error) {
	ids, err := f.ids(c)
	if err != nil {
		return nil, err
	}
	err = whoKnows(ids.coder.Can(form.UUID))
	if err != nil && to == form.UUID {
		err = fmt.Errorf("--%s %v: %w", toName, to, err)
	}
	return ids.coder, err
}

// converter converts IDs one by one.
type converter struct {
	coder    *form.Coder
	from, to form.Form
	named    bool // from is said
}

// text is the word's ID in the form to write.
func (v *converter) text(word string) ([]byte, error) {
	id, err := v.coder.ParseBare(word)
	if v.named {
		id, err = v.coder.Parse(v.from, word)
	}
	if err != nil {
		return nil, err
	}
	if err := v.coder.Can(v.to); err != nil {
		return nil, fmt.Errorf("--%s %v: %w", toName, v.to, err)
	}
	return v.coder.Append(nil, v.to, id), nil
}
