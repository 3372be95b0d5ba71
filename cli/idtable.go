package cli

import (
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// idTable shows decoded IDs. Its columns are as wide as the layout's largest
// values, so that rows can be printed as they come.
type idTable struct {
	columns []column
	time    string      // form of the time column, as exact as the layout is
	tenants tenantNames // for the last column, if there are any
}

// column is one of the layout's number fields.
type column struct {
	field generator.Field
	width int
}

const idWidth = 19 // digits of 2^63 - 1

func newIDTable(layout *generator.Layout, tenants tenantNames) idTable {
	t := idTable{time: timeForm(layout)}
	if layout.Bits(generator.Tenant) > 0 {
		t.tenants = tenants
	}
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
	_, _ = fmt.Fprintf(out, "%-*s  %-*s", idWidth, "id", len(t.time), "time")
	for _, c := range t.columns {
		_, _ = fmt.Fprintf(out, "  %*s", c.width, c.field)
	}
	if len(t.tenants) > 0 {
		_, _ = fmt.Fprint(out, "  name")
	}
	_, _ = fmt.Fprintln(out)
}

func (t idTable) row(out io.Writer, id int64, parts generator.Parts) {
	_, _ = fmt.Fprintf(out, "%-*d  %-*s", idWidth, id, len(t.time), parts.Time.Format(t.time))
	for _, c := range t.columns {
		_, _ = fmt.Fprintf(out, "  %*d", c.width, number(parts, c.field))
	}
	if name := t.tenants[parts.Tenant]; name != "" {
		_, _ = fmt.Fprintf(out, "  %s", name)
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
	TenantName string  `json:"tenant_name,omitempty"`
	Sequence   *uint64 `json:"sequence,omitempty"`
}

func (t idTable) object(id int64, parts generator.Parts) idObject {
	o := idObject{ID: strconv.FormatInt(id, 10), Time: parts.Time.Format(t.time), Tick: int64(parts.Tick)}
	for _, c := range t.columns {
		value := number(parts, c.field)
		switch c.field {
		case generator.Datacenter:
			o.Datacenter = &value
		case generator.Worker:
			o.Worker = &value
		case generator.Tenant:
			o.Tenant, o.TenantName = &value, t.tenants[value]
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
