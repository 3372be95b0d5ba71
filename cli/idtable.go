package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/layouts"
)

// idTable shows decoded IDs. Its columns are as wide as the layout's largest
// values, so that rows can be printed as they come.
type idTable struct {
	columns []column
	time    string      // form of the time column, as exact as the layout is
	wide    int         // of the time column
	coder   *form.Coder // of the other forms
}

// column is one of the layout's number fields.
type column struct {
	field generator.Field
	width int
}

const idWidth = 19 // digits of 2^63 - 1

func newIDTable(layout *generator.Layout, coder *form.Coder) idTable {
	t := idTable{time: layouts.TimeFormat(layout), coder: coder}
	t.wide = len(time.Time{}.Format(t.time))
	for _, f := range layouts.Numbers(layout) {
		digits := len(strconv.FormatUint(layout.Max(f), 10))
		t.columns = append(t.columns, column{field: f, width: max(digits, len(f.String()))})
	}
	return t
}

// heading and row ignore errors of out, which is buffered: they show at the
// flush.
func (t idTable) heading(out io.Writer) {
	var line strings.Builder
	fmt.Fprintf(&line, "%-*s  %-*s", idWidth, "id", t.wide, "time")
	for _, c := range t.columns {
		fmt.Fprintf(&line, "  %*s", c.width, c.field)
	}
	for _, f := range forms(t.coder) {
		fmt.Fprintf(&line, "  %-*s", f.Width(), f)
	}
	_, _ = fmt.Fprintln(out, strings.TrimRight(line.String(), " "))
}

// forms are those that IDs are shown in beside the integer. A UUID needs the cluster's own.
func forms(coder *form.Coder) []form.Form {
	if coder.Can(form.UUID) != nil {
		return []form.Form{form.Base62}
	}
	return []form.Form{form.Base62, form.UUID}
}

func (t idTable) row(out io.Writer, id int64, parts generator.Parts, rounded bool) {
	_, _ = fmt.Fprintf(out, "%-*d  %s", idWidth, id, parts.Time.Format(t.time))
	for _, c := range t.columns {
		_, _ = fmt.Fprintf(out, "  %*d", c.width, parts.Value(c.field))
	}
	for _, f := range forms(t.coder) {
		_, _ = fmt.Fprintf(out, "  %s", t.coder.Append(nil, f, id))
	}
	if rounded {
		_, _ = fmt.Fprint(out, "  may be rounded")
	}
	_, _ = fmt.Fprintln(out)
}
