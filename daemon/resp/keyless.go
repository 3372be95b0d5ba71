package resp

import "path"

// The commands that tools send to any Redis server, answered as by one that has no keys.

func ok(_ *Handler, _ *Session, _ [][]byte, out []byte) []byte { return appendSimple(out, "OK") }

func none(_ *Handler, _ *Session, _ [][]byte, out []byte) []byte { return appendInt(out, 0) }

func get(_ *Handler, s *Session, _ [][]byte, out []byte) []byte { return s.appendNull(out) }

// parameters are those of Redis that tools and clients ask for and that have a value here: nothing
// is kept, there is one database, and there is no replica that could be written to.
var parameters = [][2]string{{"appendonly", "no"}, {"databases", "1"}, {"replica-read-only", "yes"}, {"save", ""}}

// config is CONFIG GET parameter [parameter ...]. A parameter may be a pattern.
func config(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	if !is(args[0], "GET") || len(args) < 2 {
		return h.refuse(out, Refuse(UnknownSubcommand, shown(args[0]), "CONFIG: settings are given at the start, see flakeward daemon --help"))
	}
	var found [][2]string
	for _, row := range parameters {
		if matches(row[0], args[1:]) {
			found = append(found, row)
		}
	}
	out = s.appendMap(out, len(found))
	for _, row := range found {
		out = appendBulk(appendBulk(out, row[0]), row[1])
	}
	return out
}

func matches(name string, patterns [][]byte) bool {
	for _, p := range patterns {
		if yes, err := path.Match(lower(p), name); err == nil && yes {
			return true
		}
	}
	return false
}
