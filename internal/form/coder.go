package form

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/base62"
	"github.com/flakeward/flakeward/internal/uuid7"
)

// Coder writes IDs in each form and reads them back. Its zero value knows the forms that need no
// cluster: all but UUID. Its methods do not change it: any number of goroutines may use it.
type Coder struct {
	// Flag names, in errors, the flag that tells a reader's form, as "--as "; empty: there is none.
	Flag string

	uuids *uuid7.Coder // nil: why says why there are none
	why   error        // nil: the cluster is not known
}

// New makes a coder for the IDs of a layout and of the cluster with a UUID, as the cluster record
// has it; empty: it is not known.
func New(layout *generator.Layout, cluster string) *Coder {
	c := &Coder{}
	c.uuids, c.why = uuid7.New(layout, cluster)
	if cluster == "" {
		c.uuids = nil
	}
	return c
}

// Can returns why the coder cannot write and read IDs in form f; nil: it can. A layout that has no
// UUIDs is told before a cluster that is not known, which is ErrNoCluster.
func (c *Coder) Can(f Form) error {
	switch {
	case f == UUID && c.why != nil:
		return fmt.Errorf("there is no form uuid here: %w", c.why)
	case f == UUID && c.uuids == nil:
		return ErrNoCluster
	case f >= Count:
		return fmt.Errorf("there is no form %d", f)
	}
	return nil
}

// ErrNoCluster is why a coder cannot write a UUID yet.
var ErrNoCluster = errors.New("the form uuid needs the cluster's UUID, which is not known here yet")

// Append appends id, which is not negative, in form f, which Can allows. It allocates nothing if
// dst has room for Widest bytes.
func (c *Coder) Append(dst []byte, f Form, id int64) []byte {
	switch f {
	case Base62:
		return base62.Append(dst, id)
	case UUID:
		return c.uuids.AppendText(dst, id)
	}
	return strconv.AppendInt(dst, id, 10)
}

// Parse reads the text of an ID in form f. It takes only what Append writes. The error says what is
// wrong with the text, and what it looks like if it may be of another form.
func (c *Coder) Parse(f Form, text string) (int64, error) {
	if err := c.Can(f); err != nil {
		return 0, err
	}
	id, err := c.read(f, text)
	if err != nil {
		return 0, fmt.Errorf("%q is no ID of the form %s: %w%s", short(text), f, err, c.guess(f, text))
	}
	return id, nil
}

func (c *Coder) read(f Form, text string) (int64, error) {
	switch f {
	case Base62:
		return base62.Parse(text)
	case UUID:
		return c.uuids.Parse(text)
	}
	return parseDecimal(text)
}

// ParseBare reads the text of an ID whose form is not said: an integer or a UUID, which cannot be
// taken for each other. It never guesses another form.
func (c *Coder) ParseBare(text string) (int64, error) {
	if looksLikeUUID(text) {
		return c.Parse(UUID, text)
	}
	id, err := parseDecimal(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not an ID: %w%s", short(text), err, c.guess(Integer, text))
	}
	return id, nil
}

// guess says of which other forms a text may be that is none of f; "": of none.
func (c *Coder) guess(f Form, text string) string {
	var may []string
	for _, other := range [...]Form{String, Base62, UUID} {
		if same(other, f) || c.Can(other) != nil {
			continue
		}
		if _, err := c.read(other, text); err == nil {
			may = append(may, other.String())
		}
	}
	if len(may) == 0 {
		return ""
	}
	if c.Flag == "" {
		return "; it may be " + strings.Join(may, " or ") + ": name that form"
	}
	return "; it may be " + strings.Join(may, " or ") + ": give " + c.Flag + strings.Join(may, " or "+c.Flag)
}

// same reports whether two forms have the same texts.
func same(a, b Form) bool { return a == b || isDecimal(a) && isDecimal(b) }

func isDecimal(f Form) bool { return f == Integer || f == String }

// Widest is at least the length of every text that a coder appends, in bytes.
const Widest = uuid7.TextWidth

// Width is the length of the form's texts, in bytes; 0 if they differ in length: those in decimal
// digits have 1 to 19.
func (f Form) Width() int {
	switch f {
	case Base62:
		return base62.Width
	case UUID:
		return uuid7.TextWidth
	}
	return 0
}

// looksLikeUUID reports whether a text has the shape of a UUID, which no integer has.
func looksLikeUUID(text string) bool {
	return len(text) == uuid7.TextWidth && text[8] == '-' && text[13] == '-' && text[18] == '-' && text[23] == '-'
}
