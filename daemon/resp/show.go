package resp

import (
	"strings"
	"time"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/form"
)

// Section is one part of what INFO shows.
type Section struct {
	Name  string
	Pairs [][2]string // key and value
}

// info is INFO [section ...]. As in Redis, a section that does not exist is empty, and some names
// stand for all of them.
func (h *Handler) info(_ *Session, args [][]byte, out []byte) []byte {
	h.extra += infoRoom
	var text []byte
	if h.config.Info != nil {
		for _, section := range h.config.Info() {
			if !chosen(section.Name, args) {
				continue
			}
			if len(text) > 0 {
				text = append(text, '\r', '\n')
			}
			text = append(append(append(text, "# "...), section.Name...), '\r', '\n')
			for _, pair := range section.Pairs {
				text = append(append(text, pair[0]...), ':')
				text = append(append(text, oneLine.Replace(pair[1])...), '\r', '\n')
			}
		}
	}
	return appendBulk(out, text)
}

var oneLine = strings.NewReplacer("\r", " ", "\n", " ")

func chosen(section string, names [][]byte) bool {
	for _, name := range names {
		if is(name, strings.ToUpper(section)) || is(name, "ALL") || is(name, "DEFAULT") || is(name, "EVERYTHING") {
			return true
		}
	}
	return len(names) == 0
}

// decode is DECODE id [AS form]: a map of the fields that the layout has. Its ID has the form of
// the connection.
func (h *Handler) decode(s *Session, args [][]byte, out []byte) []byte {
	id, r := h.ids.read(args[0], args[1:])
	if r != nil {
		return h.refuse(out, r)
	}
	parts, err := h.config.Layout.Decompose(id)
	if err != nil {
		return h.refuse(out, Refuse(WrongID, err))
	}
	fields := []struct {
		name  string
		value uint64
		shown bool
	}{
		{"tick", uint64(parts.Tick), true},
		{"datacenter", parts.Datacenter, h.config.Layout.Bits(generator.Datacenter) > 0},
		{"worker", parts.Worker, true},
		{"tenant", parts.Tenant, h.config.Layout.Bits(generator.Tenant) > 0},
		{"sequence", parts.Sequence, true},
	}
	size := 2
	for _, f := range fields {
		if f.shown {
			size++
		}
	}
	rounded := form.MayBeRounded(string(args[0]))
	if rounded {
		size++
	}
	out = s.appendMap(out, size)
	out = h.ids.append(appendBulk(out, "id"), s.formOr(h.config.Form), id, 1)
	out = appendBulk(appendBulk(out, "time"), h.config.Layout.StartOf(parts.Tick).UTC().Format(h.times))
	for _, f := range fields {
		if f.shown {
			out = appendInt(appendBulk(out, f.name), int64(f.value))
		}
	}
	if rounded {
		out = appendInt(appendBulk(out, "may_be_rounded"), 1)
	}
	return out
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
