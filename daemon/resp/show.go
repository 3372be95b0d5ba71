package resp

import (
	"strings"

	"github.com/flakeward/flakeward/internal/form"
	"github.com/flakeward/flakeward/internal/layouts"
)

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
			for _, entry := range section.Entries {
				text = append(append(text, entry.Key...), ':')
				text = append(append(text, oneLine.Replace(entry.Value)...), '\r', '\n')
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
	fields := layouts.Numbers(h.config.Layout)
	size := 3 + len(fields)
	rounded := form.MayBeRounded(string(args[0]))
	if rounded {
		size++
	}
	out = s.appendMap(out, size)
	out = h.ids.append(appendBulk(out, "id"), s.formOr(h.config.Form), id, 1)
	out = appendBulk(appendBulk(out, "time"), parts.Time.Format(h.times))
	out = appendInt(appendBulk(out, "tick"), int64(parts.Tick))
	for _, f := range fields {
		out = appendInt(appendBulk(out, f.String()), int64(parts.Value(f)))
	}
	if rounded {
		out = appendInt(appendBulk(out, "may_be_rounded"), 1)
	}
	return out
}
