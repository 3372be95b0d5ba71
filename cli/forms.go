package cli

import (
	"errors"
	"fmt"

	urfave "github.com/urfave/cli/v2"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

const (
	asName = "as"

	formSource = "An ID is an integer or a UUID, or, with --as, of that form."
)

func asFlag(usage string) urfave.Flag {
	return &urfave.GenericFlag{Name: asName, Value: new(formValue), Usage: usage}
}

// formValue is the value of a flag for a form. Its zero value is that none is named.
type formValue struct {
	form.Form
	named bool
}

// Set reads a form's name.
func (v *formValue) Set(text string) error {
	f, err := form.Named(text)
	if err == nil {
		*v = formValue{f, true}
	}
	return err
}

func (v *formValue) String() string {
	if !v.named {
		return ""
	}
	return v.Form.String()
}

// formOf is the form that --as names.
func formOf(c *urfave.Context) (f form.Form, named bool) {
	v, ok := c.Generic(asName).(*formValue)
	if !ok {
		return 0, false
	}
	return v.Form, v.named
}

// ids are IDs of a layout and a cluster, in the form of --as.
type ids struct {
	layout *generator.Layout
	coder  *form.Coder
	form   form.Form
	named  bool
}

// newIDs makes ids. The cluster's UUID may be empty.
func newIDs(c *urfave.Context, layout *generator.Layout, cluster string) (*ids, error) {
	i := &ids{layout: layout}
	i.form, i.named = formOf(c)
	i.coder = form.New(layout, cluster)
	i.coder.Flag = "--" + asName + " "
	if err := i.coder.Can(i.form); err != nil {
		return nil, &usageError{fmt.Errorf("%s%v: %w", i.coder.Flag, i.form, whoKnows(err))}
	}
	return i, nil
}

// parse reads an ID and takes it apart.
func (i *ids) parse(word string) (id int64, parts generator.Parts, err error) {
	if i.named {
		id, err = i.coder.Parse(i.form, word)
	} else {
		id, err = i.coder.ParseBare(word)
	}
	if err == nil {
		parts, err = i.layout.Decompose(id)
	}
	return id, parts, whoKnows(err)
}

// whoKnows is err, with who tells the cluster's UUID if that is missing.
func whoKnows(err error) error {
	if errors.Is(err, form.ErrNoCluster) {
		return fmt.Errorf("%w: a daemon of the cluster tells it: name its --socket, and leave --%s out; or give --%s", err, layoutName, clusterName)
	}
	return err
}

// text is an ID as it is written.
func (i *ids) text(id int64) string { return string(i.coder.Append(nil, i.form, id)) }
