package resp

import (
	"bytes"
	"errors"
	"slices"

	"github.com/flakeward/flakeward/daemon/tally"
	"github.com/flakeward/flakeward/internal/form"
)

// heads are what stands before an ID of a form whose texts are all as long, and widths the bytes of
// the longest reply that is an ID of a form.
var (
	heads  [form.Count]string
	widths [form.Count]int
)

func init() {
	for f := range form.Count {
		widths[f] = widestString
		if n := f.Width(); n > 0 {
			heads[f] = string(appendHead(nil, '$', int64(n)))
			widths[f] = len(heads[f]) + n + len("\r\n")
		}
	}
	widths[form.Integer] = widestID
}

// formOr is the form of the session's IDs, or the daemon's if it has chosen none.
func (s *Session) formOr(daemons form.Form) form.Form {
	if s.chosen {
		return s.form
	}
	return daemons
}

// setForm is FORM [form].
func setForm(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	if len(args) == 0 {
		return appendBulk(out, s.formOr(h.config.Form).String())
	}
	f, r := h.ids.named(args[0])
	if r != nil {
		return h.refuse(out, r)
	}
	s.form, s.chosen = f, true
	return appendSimple(out, "OK")
}

// forms writes IDs in their forms and reads them.
type forms struct {
	coder func() *form.Coder
	step  int64 // between the IDs of a run

	// Of the last ID that was an integer, a string.
	integers, strings line
}

func newForms(coder func() *form.Coder, step int64) forms {
	if coder == nil {
		var none form.Coder
		coder = func() *form.Coder { return &none }
	}
	return forms{coder: coder, step: step, integers: line{kind: ':'}, strings: line{kind: '$'}}
}

// append appends n IDs from first on in form f, as replies.
func (w *forms) append(out []byte, f form.Form, first int64, n int) []byte {
	switch f {
	case form.Integer:
		return w.integers.appendRun(out, first, w.step, n)
	case form.String:
		return w.strings.appendRun(out, first, w.step, n)
	}
	coder := w.coder()
	if err := coder.Can(f); err != nil {
		// The daemon that began this reply knew the cluster, and the one that took over from it
		// does not.
		for range n {
			out = Refuse(BadForm, err).Append(out)
		}
		return out
	}
	out = slices.Grow(out, n*widths[f])
	for range n {
		out = append(out, heads[f]...)
		out = coder.Append(out, f, first)
		out = append(out, '\r', '\n')
		first += w.step
	}
	return out
}

// named finds the form of a name. IDs can be written in it, or there are none yet: a daemon issues
// none before it knows its cluster, so until then a request for UUIDs waits as any other does.
func (w *forms) named(name []byte) (form.Form, *Refusal) {
	f, err := form.Named(name)
	if err != nil {
		return 0, Refuse(BadForm, err)
	}
	return f, w.can(f)
}

// can returns why IDs cannot be written in a form; nil: they can, or there are none yet.
func (w *forms) can(f form.Form) *Refusal {
	if err := w.coder().Can(f); err != nil && !errors.Is(err, form.ErrNoCluster) {
		return Refuse(BadForm, err)
	}
	return nil
}

// check returns why IDs that were issued cannot be written in form f.
func (w *forms) check(f form.Form) error {
	if f != form.UUID {
		return nil
	}
	return w.coder().Can(f)
}

// read reads an ID: an integer or a UUID as it is, or, after AS, one of that form.
func (w *forms) read(text []byte, as [][]byte) (int64, *Refusal) {
	coder, word := w.coder(), string(text)
	var id int64
	var err error
	switch {
	case len(as) == 0:
		id, err = coder.ParseBare(word)
	case len(as) == 2 && is(as[0], "AS"):
		f, r := w.named(as[1])
		if r != nil {
			return 0, r
		}
		id, err = coder.Parse(f, word)
	default:
		return 0, Refuse(BadOption, shown(as[0]), decodeUsage)
	}
	if err != nil {
		return 0, Refuse(BadID, err)
	}
	return id, nil
}

// roundingClients are the clients that read integers as doubles.
var roundingClients = []string{"node-redis", "ioredis"}

// largestDouble is the highest whole number below which a double holds each.
const largestDouble = 1 << 53

// roundingClient is which of roundingClients names itself so, from 1; 0: none. Wrappers add their
// names in parentheses.
func roundingClient(name []byte) uint8 {
	name, _, _ = bytes.Cut(name, []byte("("))
	return uint8(1 + slices.Index(roundingClients, lower(name)))
}

// Library is what a client that rounds integers calls itself. It is valid while Config.Rounds runs.
func (s *Session) Library() string {
	if s.rounds == 0 {
		return ""
	}
	return roundingClients[s.rounds-1]
}

// sayRounds says once of a session that its client rounds the integers that it gets.
func (s *Session) sayRounds(count *tally.Table, told func(*Session)) {
	count.Rounded.Add(1)
	if told != nil {
		told(s)
	}
	s.rounds = 0
}
