package resp

import (
	"github.com/flakeward/flakeward/daemon/issue"
	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// Saved is a session as one process hands it to another: what was agreed with the client, its
// order, and how far the request is that it is in the middle of. Nobody issues while it is on its
// way, so what says nothing is left out.
type Saved struct {
	Name   []byte `json:",omitempty"`
	RESP3  bool   `json:",omitempty"`
	Closes bool   `json:",omitempty"`
	Known  bool   `json:",omitempty"`
	Order  issue.Order
	Form   string `json:",omitempty"` // by FORM; empty: none was chosen
	Rounds string `json:",omitempty"` // the client's name, if it rounds integers and that was not said yet

	Channels [][]byte `json:",omitempty"`

	Kind   uint8           `json:",omitempty"`
	As     string          // the form of the work
	Tenant uint32          `json:",omitempty"`
	Left   int             `json:",omitempty"`
	Taken  []generator.Run `json:",omitempty"`
	At     int             `json:",omitempty"`
	Within int             `json:",omitempty"`

	Transaction *Transaction `json:",omitempty"`
}

// Save returns the session for Restore. The session must not be served any more.
func (s *Session) Save() Saved {
	w := &s.work
	saved := Saved{
		Name: s.name, RESP3: s.resp3, Closes: s.closes, Known: s.known, Order: w.issue.Order(),
		Rounds: s.Library(), Channels: s.channels, Transaction: s.transaction,
		Kind: uint8(w.kind), As: w.form.String(), Tenant: w.tenant, Left: w.left, Taken: w.taken, At: w.at, Within: w.within,
	}
	if s.chosen {
		saved.Form = s.form.String()
	}
	return saved
}

// Restore makes a new session one that goes on where another was saved.
func (s *Session) Restore(from Saved) {
	s.name, s.resp3, s.closes, s.known = from.Name, from.RESP3, from.Closes, from.Known
	s.rounds, s.channels, s.transaction = roundingClient([]byte(from.Rounds)), from.Channels, from.Transaction
	if from.Form != "" { // a name that is not known takes long to be refused
		f, err := form.Named(from.Form)
		s.form, s.chosen = f, err == nil
	}
	w := &s.work
	w.form, _ = form.Named(from.As) // integers, of a version without forms
	w.kind, w.tenant, w.left, w.taken, w.at, w.within = kind(from.Kind), from.Tenant, from.Left, from.Taken, from.At, from.Within
	w.issue.Singles = w.kind == singles
	w.issue.Resume(from.Order)
}

// Busy reports whether the session is in the middle of a request.
func (s *Session) Busy() bool { return s.work.kind != idle || s.transaction.more() }
