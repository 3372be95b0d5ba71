package resp

import "path"

// The commands that tools send to any Redis server, answered as by one that has no keys, keeps no
// log of slow requests and does not watch its latency.

func ok(_ *Handler, _ *Session, _ [][]byte, out []byte) []byte { return appendSimple(out, "OK") }

func none(_ *Handler, _ *Session, _ [][]byte, out []byte) []byte { return appendInt(out, 0) }

func get(_ *Handler, s *Session, _ [][]byte, out []byte) []byte { return s.appendNull(out) }

// scan is SCAN cursor [options]: the iteration is over, and has found nothing.
func scan(h *Handler, _ *Session, args [][]byte, out []byte) []byte {
	if _, isNumber := number(args[0]); !isNumber {
		return h.refuse(out, Refuse(BadOption, shown(args[0]), "SCAN 0"))
	}
	return appendArray(appendBulk(appendArray(out, 2), "0"), 0)
}

func slowlog(h *Handler, _ *Session, args [][]byte, out []byte) []byte {
	switch sub := args[0]; {
	case is(sub, "GET"):
		return appendArray(out, 0)
	case is(sub, "LEN"):
		return appendInt(out, 0)
	case is(sub, "RESET"):
		return appendSimple(out, "OK")
	default:
		return h.refuse(out, Refuse(UnknownSubcommand, shown(sub), "SLOWLOG"))
	}
}

func latency(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	switch sub := args[0]; {
	case is(sub, "LATEST"), is(sub, "HISTORY"):
		return appendArray(out, 0)
	case is(sub, "HISTOGRAM"):
		return s.appendMap(out, 0)
	case is(sub, "RESET"):
		return appendInt(out, 0)
	default:
		return h.refuse(out, Refuse(UnknownSubcommand, shown(sub), "LATENCY"))
	}
}

func memory(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	if !is(args[0], "USAGE") || len(args) < 2 {
		return h.refuse(out, Refuse(UnknownSubcommand, shown(args[0]), "MEMORY: INFO memory shows the daemon's"))
	}
	return s.appendNull(out)
}

// parameters are those of Redis that tools and clients ask for and that have a value here: nothing is
// kept, there is one database, and there is no replica that could be written to.
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
