package resp

// The commands about the connection, with what clients send when they connect.

func (h *Handler) ping(_ *Session, args [][]byte, out []byte) []byte {
	if len(args) == 0 {
		return appendSimple(out, "PONG")
	}
	return appendBulk(out, args[0])
}

func (h *Handler) echo(_ *Session, args [][]byte, out []byte) []byte {
	return appendBulk(out, args[0])
}

// hello is HELLO [protover [AUTH username password] [SETNAME clientname]]. Who may ask is decided
// by who may open the socket, so any name and password will do.
func (h *Handler) hello(s *Session, args [][]byte, out []byte) []byte {
	resp3 := s.resp3
	if len(args) > 0 {
		n, ok := number(args[0])
		if !ok || n != 2 && n != 3 {
			return h.refuse(out, Refuse(BadProtocol))
		}
		resp3 = n == 3
		args = args[1:]
	}
	name := s.name
	for len(args) > 0 {
		switch {
		case is(args[0], "AUTH") && len(args) >= 3:
			args = args[3:]
		case is(args[0], "SETNAME") && len(args) >= 2:
			name = append([]byte(nil), args[1]...)
			args = args[2:]
		default:
			return h.refuse(out, Refuse(BadOption, shown(args[0]), "HELLO [2|3 [AUTH username password] [SETNAME name]]"))
		}
	}
	s.resp3, s.name = resp3, name
	version := 2
	if s.resp3 {
		version = 3
	}
	out = s.appendMap(out, 7)
	out = appendBulk(appendBulk(out, "server"), "flakeward")
	out = appendBulk(appendBulk(out, "version"), h.config.Version)
	out = appendInt(appendBulk(out, "proto"), int64(version))
	out = appendInt(appendBulk(out, "id"), s.ID)
	out = appendBulk(appendBulk(out, "mode"), "standalone")
	out = appendBulk(appendBulk(out, "role"), "master")
	return appendArray(appendBulk(out, "modules"), 0)
}

// client is CLIENT with those subcommands that clients send unasked and that are harmless to agree
// to.
func (h *Handler) client(s *Session, args [][]byte, out []byte) []byte {
	sub, args := args[0], args[1:]
	switch {
	case is(sub, "ID") && len(args) == 0:
		return appendInt(out, s.ID)
	case is(sub, "GETNAME") && len(args) == 0:
		if len(s.name) == 0 {
			return s.appendNull(out)
		}
		return appendBulk(out, s.name)
	case is(sub, "SETNAME") && len(args) == 1:
		s.name = append([]byte(nil), args[0]...)
		return appendSimple(out, "OK")
	case is(sub, "SETINFO") && len(args) == 2, (is(sub, "NO-EVICT") || is(sub, "NO-TOUCH")) && len(args) == 1:
		return appendSimple(out, "OK")
	}
	return h.refuse(out, Refuse(UnknownSubcommand, shown(sub), "CLIENT with that many arguments"))
}

// benchmarked is what redis-benchmark asks for before it begins: how Redis keeps its data, which
// flakeward has none of.
var benchmarked = [][2]string{{"SAVE", ""}, {"APPENDONLY", "no"}}

// configGet is CONFIG GET: no parameter of Redis is one of flakeward.
func (h *Handler) configGet(s *Session, args [][]byte, out []byte) []byte {
	if !is(args[0], "GET") || len(args) < 2 {
		return h.refuse(out, Refuse(UnknownSubcommand, shown(args[0]), "CONFIG"))
	}
	for _, row := range benchmarked {
		if is(args[1], row[0]) {
			return appendBulk(appendBulk(s.appendMap(out, 1), args[1]), row[1])
		}
	}
	return s.appendMap(out, 0)
}

func (h *Handler) selectDB(_ *Session, args [][]byte, out []byte) []byte {
	if n, ok := number(args[0]); !ok || n != 0 {
		return h.refuse(out, Refuse(BadDatabase))
	}
	return appendSimple(out, "OK")
}

func (h *Handler) reset(s *Session, _ [][]byte, out []byte) []byte {
	s.resp3, s.name = false, nil
	return appendSimple(out, "RESET")
}

func (h *Handler) quit(s *Session, _ [][]byte, out []byte) []byte {
	s.closes = true
	return appendSimple(out, "OK")
}
