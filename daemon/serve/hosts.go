package serve

import "unicode"

// hosts follows the lines of a connection of HTTP/1, so that net/http takes a request whatever host
// it names. Programs put the socket's path there, and net/http refuses a slash before a handler is
// asked. On a socket the host says nothing, so its bytes are changed in place, and none comes or
// goes: what is missing, there twice, or not written as a field stays refused. A body is followed
// as well, and the next request may follow it on the same line: so a whole URL is one behind a
// method.
type hosts struct {
	named  bool // the host is left as it is: it came by an address, where it says something
	begun  bool // this line has a byte,
	field  int  // and begins with so many bytes of hostField; all: the host follows
	method bool // the byte before was a capital, as the last one of a method is
	url    int  // so many bytes of wholeURL have come since one; all: the host of that URL follows
}

const (
	hostField = "host:" // begins a line, in any case
	wholeURL  = " ://"  // behind a method, with the scheme in it
	notOfHost = '_'     // in place of a byte that may not be in a host
)

// read changes the hosts in b.
func (h *hosts) read(b []byte) {
	if h.named {
		return
	}
	for i, c := range b {
		if c == '\n' {
			*h = hosts{}
			continue
		}
		if h.inHost(c) && c >= ' ' && c != 0x7f && !letterOrDigit(c) {
			b[i] = notOfHost
		}
		h.begun = h.begun || c != '\r'
		h.method = 'A' <= c && c <= 'Z'
	}
}

// inHost reports whether the next byte of the line is one of a host.
func (h *hosts) inHost(c byte) bool {
	switch {
	case h.field == len(hostField):
		return true
	case unicode.ToLower(rune(c)) == rune(hostField[h.field]) && (h.field > 0 || !h.begun):
		h.field++
	default:
		h.field = 0
	}
	switch {
	case h.url == len(wholeURL):
		if c != '/' && c != '?' && c != ' ' {
			return true
		}
		h.url = 0
	case c == wholeURL[h.url] && (h.url > 0 || h.method):
		h.url++
	case h.url != 1 || !letterOrDigit(c) && c != '+' && c != '-' && c != '.': // it is no scheme
		h.url = 0
	}
	return false
}

func letterOrDigit(c byte) bool {
	return c <= unicode.MaxASCII && (unicode.IsLetter(rune(c)) || unicode.IsDigit(rune(c)))
}
