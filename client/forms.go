package client

import (
	"context"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/info"
)

// Form is how an ID is written as text. docs/protocol.md describes them.
type Form uint8

// The forms there are.
const (
	String = Form(form.String) // 1 to 19 decimal digits
	Base62 = Form(form.Base62) // 11 characters of 0-9, A-Z, a-z, which sort as bytes like the numbers
	UUID   = Form(form.UUID)   // 36 characters: a UUID of version 7, which sorts by time
)

// String is the form's name.
func (f Form) String() string { return form.Form(f).String() }

// origin is the cluster of a daemon, and what writes its IDs.
type origin struct {
	cluster, layout string // as INFO has them; cluster is empty while the daemon has joined none
	first           bool   // no connection before had another

	coder *form.Coder
	why   error // why there are no UUIDs; nil: there are
}

func originOf(said info.Info) *origin {
	o := &origin{coder: &form.Coder{}}
	o.cluster, _ = said.Get(info.Cluster)
	o.layout, _ = said.Get(info.Layout)
	layout, err := generator.ParseLayout(o.layout)
	if err == nil {
		o.coder = form.New(layout, o.cluster)
		err = o.coder.Can(form.UUID)
	}
	o.why = err
	return o
}

// text writes an ID.
func (o *origin) text(f Form, id int64) string {
	var room [form.Widest]byte
	return string(o.coder.Append(room[:0], form.Form(f), id))
}

// Texts hands out a Client's IDs as text. Its methods may be called from any goroutine.
type Texts struct {
	client *Client
	form   Form
}

// As returns what hands out the client's IDs in a form.
func (c *Client) As(f Form) Texts { return Texts{c, f} }

// Next returns as text the ID that Client.Next would return. The errors are those of Take.
func (t Texts) Next(ctx context.Context) (string, error) {
	var id int64
	o, err := t.taken(func() (err error) {
		id, err = t.client.Next(ctx)
		return err
	})
	if err != nil {
		return "", err
	}
	return o.text(t.form, id), nil
}

// Take returns n new IDs as text, in the order in which they were drawn. n is at least 1 and may be
// more than the daemon gives in one request. After an error there are none: what was drawn already
// is lost.
//
// The errors are those of Client.Take; an error for a form that there is not; and a *RefusedError
// if the daemon's layout has no UUIDs.
func (t Texts) Take(ctx context.Context, n int) ([]string, error) {
	var ids []int64
	o, err := t.taken(func() (err error) {
		ids, err = t.client.TakeIDs(ctx, n)
		return err
	})
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, n)
	for _, id := range ids {
		all = append(all, o.text(t.form, id))
	}
	return all, nil
}

// taken calls take until all that it has taken is of one cluster, and returns that. Stock ends with
// its cluster, so it is where the cluster before and after is the same.
func (t Texts) taken(take func() error) (*origin, error) {
	if t.form != String && t.form != Base62 && t.form != UUID {
		return nil, fmt.Errorf("flakeward: %s is no form of texts: there are String, Base62 and UUID", t.form)
	}
	for {
		before := t.client.origin.Load()
		if err := take(); err != nil {
			return nil, err
		}
		o := t.client.origin.Load()
		switch {
		case o != before && !o.first:
		case t.form == UUID && o.why != nil:
			return nil, &RefusedError{Code: "ERR", Text: o.why.Error()}
		default:
			return o, nil
		}
	}
}

// TakeIDs is Take with each ID by itself.
func (c *Client) TakeIDs(ctx context.Context, n int) ([]int64, error) {
	runs, err := c.Take(ctx, n)
	if err != nil {
		return nil, err
	}
	all := make([]int64, 0, n)
	for _, run := range runs {
		all = slices.AppendSeq(all, run.IDs())
	}
	return all, nil
}
