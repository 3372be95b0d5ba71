package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// idTable shows decoded IDs. Its columns are as wide as the layout's largest
// values, so that rows can be printed as they come.
type idTable struct {
	columns []column
	time    string      // form of the time column, as exact as the layout is
	coder   *form.Coder // of the other forms; nil: they are not shown
}

// column is one of the layout's number fields.
type column struct {
	field generator.Field
	width int
}

const idWidth = 19 // digits of 2^63 - 1

func newIDTable(layout *generator.Layout) idTable {
	t := idTable{time: timeForm(layout)}
	for _, f := range []generator.Field{generator.Datacenter, generator.Worker, generator.Tenant, generator.Sequence} {
		if layout.Bits(f) > 0 {
			digits := len(strconv.FormatUint(layout.Max(f), 10))
			t.columns = append(t.columns, column{field: f, width: max(digits, len(f.String()))})
		}
	}
	return t
}

// timeForm is RFC 3339 in UTC with as many decimals as the layout's ticks can
// have.
func timeForm(layout *generator.Layout) string {
	decimals := ""
	for _, c := range []struct {
		unit     time.Duration
		decimals string
	}{{time.Second, ""}, {time.Millisecond, ".000"}, {time.Microsecond, ".000000"}, {time.Nanosecond, ".000000000"}} {
		decimals = c.decimals
		if layout.TickLength()%c.unit == 0 && time.Duration(layout.Epoch().Nanosecond())%c.unit == 0 {
			break
		}
	}
	return "2006-01-02T15:04:05" + decimals + "Z"
}

// heading and row ignore errors of out, which is buffered: they show at the
// flush.
func (t idTable) heading(out io.Writer) {
	var line strings.Builder
	fmt.Fprintf(&line, "%-*s  %-*s", idWidth, "id", len(t.time), "time")
	for _, c := range t.columns {
		fmt.Fprintf(&line, "  %*s", c.width, c.field)
	}
	for _, f := range t.forms() {
		fmt.Fprintf(&line, "  %-*s", f.Width(), f)
	}
	_, _ = fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
}

// forms are those that IDs are shown in beside the integer. A UUID needs the cluster's own.
func (t idTable) forms() []form.Form {
	switch {
	case t.coder == nil:
		return nil
	case t.coder.Can(form.UUID) != nil:
		return []form.Form{form.Base62}
	}
	return []form.Form{form.Base62, form.UUID}
}

func (t idTable) row(out io.Writer, id int64, parts generator.Parts, rounded bool) {
	_, _ = fmt.Fprintf(out, "%-*d  %-*s", idWidth, id, len(t.time), parts.Time.Format(t.time))
	for _, c := range t.columns {
		_, _ = fmt.Fprintf(out, "  %*d", c.width, number(parts, c.field))
	}
	for _, f := range t.forms() {
		_, _ = fmt.Fprintf(out, "  %s", t.coder.Append(nil, f, id))
	}
	if rounded {
		_, _ = fmt.Fprint(out, "  may be rounded")
	}
	_, _ = fmt.Fprintln(out)
}

// idObject is a decoded ID as JSON. The ID is a string, since JavaScript loses
// integers over 2^53; fields that the layout does not have are left out.
type idObject struct {
	ID         string  `json:"id"`
	Time       string  `json:"time"`
	Tick       int64   `json:"tick"`
	Datacenter *uint64 `json:"datacenter,omitempty"`
	Worker     *uint64 `json:"worker,omitempty"`
	Tenant     *uint64 `json:"tenant,omitempty"`
	Sequence   *uint64 `json:"sequence,omitempty"`
	Base62     string  `json:"base62,omitempty"`
	UUID       string  `json:"uuid,omitempty"`
	Rounded    bool    `json:"may_be_rounded,omitempty"`
}

func (t idTable) object(id int64, parts generator.Parts, rounded bool) idObject {
	o := idObject{ID: strconv.FormatInt(id, 10), Time: parts.Time.Format(t.time), Tick: int64(parts.Tick), Rounded: rounded}
	for _, f := range t.forms() {
		text := string(t.coder.Append(nil, f, id))
		if f == form.UUID {
			o.UUID = text
		} else {
			o.Base62 = text
		}
	}
	for _, c := range t.columns {
		value := number(parts, c.field)
		switch c.field {
		case generator.Datacenter:
			o.Datacenter = &value
		case generator.Worker:
			o.Worker = &value
		case generator.Tenant:
			o.Tenant = &value
		case generator.Sequence:
			o.Sequence = &value
		}
	}
	return o
}

func number(parts generator.Parts, f generator.Field) uint64 {
	switch f {
	case generator.Datacenter:
		return parts.Datacenter
	case generator.Worker:
		return parts.Worker
	case generator.Tenant:
		return parts.Tenant
	}
	return parts.Sequence
}

// roundings counts IDs that may be rounded, to say so once.
type roundings struct{ found, all int }

// look reports whether the ID in a word may be rounded.
func (r *roundings) look(word string) bool {
	may := form.MayBeRounded(word)
	if r.all++; may {
		r.found++
	}
	return may
}

// say says how many may be rounded, and why, if any may.
func (r *roundings) say(out io.Writer) {
	if r.found > 0 {
		fmt.Fprintf(out, "flakeward: %d of %d IDs may be rounded: %s\n", r.found, r.all, form.Rounded)
	}
}
