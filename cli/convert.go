package cli

import (
	"bufio"
	"errors"
	"fmt"
	"io"
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
			from, named := formOf(c)
			switch {
			case !to.named:
				return usagef("convert needs --%s FORM, one of %s", toName, convertible)
			case !c.Args().Present():
				return usagef("convert needs at least one ID, or - to read them from standard input")
			}
			v := converter{
				cluster: func() (*form.Coder, error) { return flags.clusterCoder(c, to.Form) }, coder: &form.Coder{Flag: formFlag(c) + " "},
				from: from, named: named, to: to.Form, out: bufio.NewWriter(c.App.Writer), complain: c.App.ErrWriter,
			}
			err := v.all(c.Args().Slice(), c.App.Reader)
			if flushing := v.out.Flush(); err == nil && flushing != nil {
				err = fmt.Errorf("writing what was converted: %w", flushing)
			}
			if err != nil {
				return err
			}
			v.rounded.say(v.complain)
			if v.wrong > 0 {
				return fmt.Errorf("%d of %d IDs could not be converted", v.wrong, v.wrong+v.rounded.all)
			}
			return nil
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

// converter converts IDs one by one. One that is wrong is complained about and does not keep the
// others from being converted.
type converter struct {
	cluster  func() (*form.Coder, error) // asked for once a UUID is to be read or written
	coder    *form.Coder
	from, to form.Form
	named    bool // from is said
	out      *bufio.Writer
	complain io.Writer
	wrong    int
	rounded  roundings
}

func (v *converter) all(words []string, stdin io.Reader) error {
	for _, word := range words {
		var err error
		if word == "-" {
			err = eachWord(stdin, func(n int, word string) error { return v.convert(word, fmt.Sprintf("word %d of standard input: ", n)) })
		} else {
			err = v.convert(word, "")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// convert converts one word; where says where it stood. The error is that nothing can be converted.
func (v *converter) convert(word, where string) error {
	text, err := v.text(word)
	if errors.Is(err, form.ErrNoCluster) {
		if v.coder, err = v.cluster(); err != nil {
			return err
		}
		text, err = v.text(word)
	}
	if err != nil {
		v.wrong++
		fmt.Fprintf(v.complain, "flakeward: %s%v\n", where, err)
		return nil
	}
	v.rounded.look(word)
	_, err = v.out.Write(append(text, '\n'))
	return err
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
