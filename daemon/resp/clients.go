package resp

import (
	"cmp"
	"strconv"
)

// listClients is CLIENT LIST: a line for each connection, and CLIENT INFO:
// that of its own. The keys are added to, not changed.
func listClients(h *Handler, s *Session, all bool, out []byte) []byte {
	if !all || h.config.Sessions == nil {
		return appendBulk(out, s.describe(nil))
	}
	s.work.begin(listing, 0, options{})
	s.work.list, s.work.from = nil, &h.clients
	s.work.wanted = s.work.from.begun + 1 // a list that is being made may lack who has come meanwhile
	return out
}

// clients is the list of all connections. It is made a part at a time, so that it holds nobody up, and
// once for all who ask for it meanwhile.
type clients struct {
	begun, made uint64 // lists
	text        []byte // the last one
	next        []byte // that is being made
	at          int    // the place in Config.Sessions to go on with
}

// linesAtOnce is how many connections one call of Serve adds to the list.
const linesAtOnce = 64

// more makes another part of the list.
func (c *clients) more(sessions func(at int) (*Session, int)) {
	if c.begun == c.made {
		c.begun++
		c.next, c.at = make([]byte, 0, len(c.text)+len(c.text)/8), 0
	}
	for range linesAtOnce {
		var s *Session
		if s, c.at = sessions(c.at); s == nil {
			c.text, c.next, c.made = c.next, nil, c.begun
			return
		}
		c.next = s.describe(c.next)
	}
}

// FinishList returns the rest of the CLIENT LIST that the session is in the middle of; nil if it is
// in none. Another process cannot go on with it.
func FinishList(h *Handler, s *Session) (out []byte) {
	for s.work.kind == listing {
		part, next := h.sendList(&s.work, nil)
		if out = append(out, part...); next.State == Read {
			s.work.done(true)
		}
	}
	return out
}

// sendList goes on with a CLIENT LIST: it makes a part of the list, or sends one.
func (h *Handler) sendList(w *work, out []byte) ([]byte, Next) {
	if w.list == nil {
		if w.from.made < w.wanted {
			w.from.more(h.config.Sessions)
		}
		if w.from.made < w.wanted {
			return out, Next{State: Write}
		}
		w.list, w.at, w.from = w.from.text, 0, nil
		out = appendHead(out, '$', int64(len(w.list)))
	}
	n := min(max(0, h.output-len(out)), len(w.list)-w.at)
	out = append(out, w.list[w.at:w.at+n]...)
	if w.at += n; w.at < len(w.list) {
		return out, Next{State: Write}
	}
	w.list = nil
	return append(out, '\r', '\n'), Next{}
}

// describe appends the session as one line of keys and values, as Redis does. Of a long name it
// shows the beginning: anybody may ask for the lines of all.
func (s *Session) describe(out []byte) []byte {
	out = strconv.AppendInt(append(out, "id="...), s.ID, 10)
	out = append(append(out, " name="...), s.name[:min(len(s.name), longestShown)]...)
	out = append(append(out, " user="...), s.Peer.User()...)
	out = strconv.AppendInt(append(out, " pid="...), int64(s.Peer.PID), 10)
	out = strconv.AppendUint(append(out, " served="...), s.served, 10)
	waits, left := "none", 0
	if w := &s.work; w.kind == singles || w.kind == batch || w.kind == runs {
		waits, left = "next", w.left
		if w.kind == runs {
			waits = "run"
		}
	}
	out = append(append(out, " waits="...), waits...)
	out = strconv.AppendInt(append(out, " left="...), int64(left), 10)
	out = append(append(out, " rate="...), s.work.issue.Rate().String()...)
	return append(append(append(out, " dialect="...), cmp.Or(s.dialect, "resp")...), '\n')
}
