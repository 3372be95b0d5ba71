package layouts

import (
	"strconv"
	"strings"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// Decoded has the fields of an ID, as JSON. The ID is a string: JavaScript rounds integers over
// 2^53. A field that the layout does not have is left out, and so is a form that is not asked for.
type Decoded struct {
	ID         string  `json:"id"`
	Time       string  `json:"time"` // of the tick's beginning, RFC 3339 in UTC
	Tick       int64   `json:"tick"`
	Datacenter *uint64 `json:"datacenter,omitempty"`
	Worker     uint64  `json:"worker"`
	Tenant     *uint64 `json:"tenant,omitempty"`
	Sequence   uint64  `json:"sequence"`
	Base62     string  `json:"base62,omitempty"`
	UUID       string  `json:"uuid,omitempty"`
	Rounded    bool    `json:"may_be_rounded,omitempty"` // see form.MayBeRounded
}

// Decode shows an ID of a layout that has these parts.
func Decode(layout *generator.Layout, id int64, parts generator.Parts, rounded bool) Decoded {
	d := Decoded{
		ID: strconv.FormatInt(id, 10), Time: parts.Time.Format(TimeFormat(layout)), Tick: int64(parts.Tick),
		Worker: parts.Worker, Sequence: parts.Sequence, Rounded: rounded,
	}
	if layout.Bits(generator.Datacenter) > 0 {
		d.Datacenter = &parts.Datacenter
	}
	if layout.Bits(generator.Tenant) > 0 {
		d.Tenant = &parts.Tenant
	}
	return d
}

// Numbers are the layout's fields besides the time, in the order in which they are shown.
func Numbers(layout *generator.Layout) (all []generator.Field) {
	for f := generator.Datacenter; f <= generator.Sequence; f++ {
		if layout.Bits(f) > 0 {
			all = append(all, f)
		}
	}
	return all
}

// TimeFormat is RFC 3339 with as many digits of a second as the start of every tick of the layout
// needs: 0 to 9.
func TimeFormat(l *generator.Layout) string {
	format, unit := "2006-01-02T15:04:05.", time.Second
	for unit > 1 && (l.TickLength()%unit != 0 || time.Duration(l.Epoch().Nanosecond())%unit != 0) {
		unit /= 10
		format += "0"
	}
	return strings.TrimSuffix(format, ".") + "Z07:00"
}
