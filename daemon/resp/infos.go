package resp

import "strings"

// command is COMMAND [COUNT | LIST | INFO [name ...]], from which clients learn the commands.
func (h *Handler) command(_ *Session, args [][]byte, out []byte) []byte {
	if len(args) == 0 {
		return h.commands.appendInfos(out, nil)
	}
	sub, names := args[0], args[1:]
	switch {
	case is(sub, "COUNT") && len(names) == 0:
		return appendInt(out, int64(len(h.commands.names)))
	case is(sub, "LIST") && len(names) == 0:
		out = appendArray(out, len(h.commands.names))
		for _, name := range h.commands.names {
			out = appendBulk(out, strings.ToLower(name))
		}
		return out
	case is(sub, "INFO"):
		return h.commands.appendInfos(out, names)
	case is(sub, "DOCS"): // redis-cli asks at its start, and does without
		return h.refuse(out, declined(Refuse(UnknownSubcommand, "DOCS", "COMMAND")))
	}
	return h.refuse(out, Refuse(UnknownSubcommand, shown(sub), "COMMAND"))
}

// appendInfos appends the descriptions of the named commands, or of all; a name that is not known
// gets a null.
func (t *commands) appendInfos(out []byte, names [][]byte) []byte {
	if len(names) == 0 {
		out = appendArray(out, len(t.names))
		for _, name := range t.names {
			out = appendDescription(out, t.byName[name].command)
		}
		return out
	}
	out = appendArray(out, len(names))
	for _, name := range names {
		if c, ok := t.find(name); ok {
			out = appendDescription(out, c.command)
		} else {
			out = append(out, "*-1\r\n"...)
		}
	}
	return out
}

// appendDescription appends what COMMAND tells about c: name, arity (negative: at least that many
// words), flags, the positions of the first and the last key and the step between, categories,
// tips, key specifications, subcommands. There are no keys.
func appendDescription(out []byte, c *command) []byte {
	out = appendBulk(appendArray(out, 10), strings.ToLower(c.name))
	arity := 1 + c.min
	if c.max != c.min {
		arity = -arity
	}
	out = appendInt(out, int64(arity))
	out = appendSimple(appendArray(out, 1), "fast")
	for range 3 {
		out = appendInt(out, 0)
	}
	for range 4 {
		out = appendArray(out, 0)
	}
	return out
}
