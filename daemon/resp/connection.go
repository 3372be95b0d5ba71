package resp

// The commands about the connection, with what clients send when they connect.

func (h *Handler) ping(s *Session, args [][]byte, out []byte) []byte {
	if len(s.channels) > 0 && !s.resp3 { // a reply that looks like a message
		message := []byte(nil)
		if len(args) > 0 {
			message = args[0]
		}
		return appendBulk(appendBulk(appendArray(out, 2), "pong"), message)
	}
	if len(args) == 0 {
		return appendSimple(out, "PONG")
	}
	return appendBulk(out, args[0])
}

func (h *Handler) echo(_ *Session, args [][]byte, out []byte) []byte {
	return appendBulk(out, args[0])
}

// locked reports whether the session has to give a password first: it came by an address.
func (h *Handler) locked(s *Session) bool {
	return h.config.Password != nil && !s.known && s.Peer.Address.IsValid()
}

// auth is AUTH [username] password.
func auth(h *Handler, s *Session, args [][]byte, out []byte) []byte {
	user, password := []byte(defaultUser), args[0]
	if len(args) == 2 {
		user, password = args[0], args[1]
	} else if h.config.Password == nil {
		return h.refuse(out, Refuse(NoPassword))
	}
	if r := h.authenticate(user, password); r != nil {
		return h.refuse(out, r)
	}
	s.known = true
	return appendSimple(out, "OK")
}

// defaultUser is the one user that there is.
const defaultUser = "default"

// authenticate refuses all users but the one that there is, and a wrong password. Where there is no
// password, any passes, as on a Redis server without one.
func (h *Handler) authenticate(user, password []byte) *Refusal {
	switch {
	case string(user) != defaultUser:
		return Refuse(WrongPass, shown(user))
	case h.config.Password != nil && !h.config.Password(password):
		return Refuse(WrongPassword)
	}
	return nil
}

// hello is HELLO [protover [AUTH username password] [SETNAME clientname]].
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
	name, known := s.name, s.known
	for len(args) > 0 {
		switch {
		case is(args[0], "AUTH") && len(args) >= 3:
			if r := h.authenticate(args[1], args[2]); r != nil {
				return h.refuse(out, r)
			}
			known = true
			args = args[3:]
		case is(args[0], "SETNAME") && len(args) >= 2:
			if !oneWord(args[1]) {
				return h.refuse(out, Refuse(BadOption, shown(args[1]), nameUsage))
			}
			name = append([]byte(nil), args[1]...)
			args = args[2:]
		default:
			return h.refuse(out, Refuse(BadOption, shown(args[0]), "HELLO [2|3 [AUTH username password] [SETNAME name]]"))
		}
	}
	if !known && h.locked(s) {
		return h.refuse(out, Refuse(NoAuth))
	}
	s.resp3, s.name, s.known = resp3, name, known
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
		if !oneWord(args[0]) {
			return h.refuse(out, Refuse(BadOption, shown(args[0]), nameUsage))
		}
		s.name = append([]byte(nil), args[0]...)
		return appendSimple(out, "OK")
	case is(sub, "SETINFO") && len(args) == 2:
		if is(args[0], "LIB-NAME") {
			s.rounds = roundingClient(args[1])
		}
		return appendSimple(out, "OK")
	case (is(sub, "NO-EVICT") || is(sub, "NO-TOUCH")) && len(args) == 1 && either(args[0], "ON", "OFF"),
		is(sub, "TRACKING") && len(args) >= 1 && either(args[0], "ON", "OFF"), // no key, no invalidation
		is(sub, "CACHING") && len(args) == 1 && either(args[0], "YES", "NO"),
		is(sub, "REPLY") && len(args) == 1 && is(args[0], "ON"):
		return appendSimple(out, "OK")
	case is(sub, "REPLY"):
		return h.refuse(out, Refuse(BadOption, shown(sub), "CLIENT REPLY ON: every request is answered"))
	}
	r := Refuse(UnknownSubcommand, shown(sub), "CLIENT with that many arguments")
	if either(sub, "MAINT_NOTIFICATIONS", "CAPA") { // of Redis Enterprise, and of Valkey
		r = declined(r)
	}
	return h.refuse(out, r)
}

const nameUsage = "a name of letters, digits and signs, without spaces"

// oneWord reports whether Redis takes a name for a connection: it has no spaces and no ends of
// lines.
func oneWord(name []byte) bool {
	for _, c := range name {
		if c < '!' || c > '~' {
			return false
		}
	}
	return true
}

func either(b []byte, this, that string) bool { return is(b, this) || is(b, that) }

func (h *Handler) selectDB(_ *Session, args [][]byte, out []byte) []byte {
	if n, ok := number(args[0]); !ok || n != 0 {
		return h.refuse(out, Refuse(BadDatabase))
	}
	return appendSimple(out, "OK")
}

func (h *Handler) reset(s *Session, _ [][]byte, out []byte) []byte {
	s.resp3, s.name, s.channels, s.transaction, s.chosen = false, nil, nil, nil, false
	s.known = false
	return appendSimple(out, "RESET")
}

func (h *Handler) quit(s *Session, _ [][]byte, out []byte) []byte {
	s.closes = true
	return appendSimple(out, "OK")
}
