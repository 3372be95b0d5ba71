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
	*ids
	titles []any
	format string // of a line
	time   string // as exact as the layout is
}

func newIDTable(of *ids) *idTable {
	t := &idTable{ids: of, time: layouts.TimeFormat(of.layout)}
	add := func(title any, width int) {
		t.titles = append(t.titles, title)
		t.format += fmt.Sprintf("%%%dv  ", width)
	}
	add("id", -len("9223372036854775807"))
	add("time", -len(time.Time{}.Format(t.time)))
	for _, f := range layouts.Numbers(of.layout) {
		digits := strconv.FormatUint(of.layout.Max(f), 10)
		add(f, max(len(digits), len(f.String())))
	}
	for _, f := range forms(of.coder) {
		add(f, -f.Width())
	}
	return t
}

// forms are those that IDs are shown in beside the integer. A UUID needs the cluster's own.
func forms(coder *form.Coder) []form.Form {
	if coder.Can(form.UUID) != nil {
		return []form.Form{form.Base62}
	}
	return []form.Form{form.Base62, form.UUID}
}

// line ignores errors of out, which is buffered: they show at the flush.
func (t *idTable) line(out io.Writer, cells []any, note string) {
	_, _ = fmt.Fprintln(out, strings.TrimRight(fmt.Sprintf(t.format, cells...)+note, " "))
}

func (t *idTable) row(out io.Writer, id int64, parts generator.Parts, rounded bool) {
	cells, note := []any{id, parts.Time.Format(t.time)}, ""
	for _, f := range layouts.Numbers(t.layout) {
		cells = append(cells, parts.Value(f))
	}
	for _, f := range forms(t.coder) {
		cells = append(cells, string(t.coder.Append(nil, f, id)))
	}
	if rounded {
		note = "may be rounded"
	}
	t.line(out, cells, note)
}
