package client

import (
	"context"
	"fmt"

	"github.com/flakeward/flakeward/internal/form"
)

// Form is how an ID is written as text. docs/protocol.md describes them.
type Form uint8

// The forms there are. The client writes String and Base62 itself, from stock. The daemon writes
// UUIDs, so each call for them asks it.
const (
	String = Form(form.String) // 1 to 19 decimal digits
	Base62 = Form(form.Base62) // 11 characters of 0-9, A-Z, a-z, which sort as bytes like the numbers
	UUID   = Form(form.UUID)   // 36 characters: a UUID of version 7, which sorts by time
)

// String is the form's name.
func (f Form) String() string { return form.Form(f).String() }

// own reports whether the client writes the form itself.
func (f Form) own() bool { return f == String || f == Base62 }

// Texts hands out a Client's IDs as text. Its methods may be called from any goroutine.
type Texts struct {
	client *Client
	form   Form
}

// As returns what hands out the client's IDs in a form.
func (c *Client) As(f Form) Texts { return Texts{c, f} }

// Next returns an ID as text. Of a form that the client writes itself it is the one that
// Client.Next would return. The errors are those of Take.
func (t Texts) Next(ctx context.Context) (string, error) {
	if t.form.own() {
		id, err := t.client.Next(ctx)
		if err != nil {
			return "", err
		}
		return t.form.text(id), nil
	}
	all, err := t.Take(ctx, 1)
	if err != nil {
		return "", err
	}
	return all[0], nil
}

// Take returns n new IDs as text, in the order in which they were drawn. n is at least 1 and may be
// more than the daemon gives in one request. After an error there are none: what was drawn already
// is lost.
//
// UUIDs come over a connection of their own, on which calls wait for each other.
// They were drawn during the call. They rise on that connection, and are in no order with those
// that come from stock.
//
// The errors are those of Client.Take; an error for a form that there is not; and a *RefusedError
// if the daemon's layout has no UUIDs.
func (t Texts) Take(ctx context.Context, n int) ([]string, error) {
	switch {
	case n < 1:
		return nil, fmt.Errorf("flakeward: %d IDs cannot be taken: ask for 1 or more", n)
	case t.form == UUID:
		return t.client.written.take(ctx, t.client, n)
	case !t.form.own():
		return nil, fmt.Errorf("flakeward: %s is no form of texts: there are String, Base62 and UUID", t.form)
	}
	runs, err := t.client.Take(ctx, n)
	if err != nil {
		return nil, err
	}
	all := make([]string, 0, n)
	for _, run := range runs {
		for id := range run.IDs() {
			all = append(all, t.form.text(id))
		}
	}
	return all, nil
}

// TakeIDs is Take with each ID by itself.
func (c *Client) TakeIDs(ctx context.Context, n int) ([]int64, error) {
	runs, err := c.Take(ctx, n)
	if err != nil {
		return nil, err
	}
	all := make([]int64, 0, n)
	for _, run := range runs {
		for id := range run.IDs() {
			all = append(all, id)
		}
	}
	return all, nil
}

// text writes an ID in a form of the client's own.
func (f Form) text(id int64) string {
	var room [form.Widest]byte
	return string(new(form.Coder).Append(room[:0], form.Form(f), id))
}
