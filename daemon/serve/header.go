package serve

import "math"

// header follows the header of a request of HTTP/1, so that net/http takes it whatever host it
// names. Programs put the socket's path there, and net/http refuses a slash before a handler is
// asked. On a socket the host says nothing, so its bytes are changed in place, and none comes or
// goes: what is missing, there twice, or not written as a field stays refused.
type header struct {
	named  bool // the host is left as it is: it came by an address, where it says something
	over   bool // the header has been read: what follows is not looked at
	lines  int  // that have ended
	n      int  // bytes of this line, without CR
	match  int  // how many of them are as before the host
	length int  // how many of them are as before the body's length
	body   int  // bytes of the body that the header tells of
	skip   int  // bytes of a body that come next
}

const (
	hostField   = "host:" // begins a line, in any case
	lengthField = "content-length:"
	afterScheme = "://" // is before the host of a target that is a whole URL
	noHost      = -1    // in place of match or length: it is not in this line, or no longer
	notOfHost   = '_'   // in place of a byte that may not be in a host
)

// next begins with the next request, which comes after what is left of the body.
func (h *header) next() {
	*h = header{named: h.named, skip: h.skip}
}

// read changes the host in b, and returns how many bytes of b belong to this header, or to the body
// behind it.
func (h *header) read(b []byte) int {
	switch {
	case h.skip > 0:
		n := min(h.skip, len(b))
		h.skip -= n
		return n
	case h.over:
		return len(b)
	}
	for i, c := range b {
		switch {
		case c == '\n' && h.n == 0 && h.lines > 0:
			h.over, h.skip = true, h.body
			return i + 1
		case c == '\n':
			h.lines, h.n, h.match, h.length = h.lines+1, 0, 0, 0
		case c != '\r':
			if !h.named && h.inHost(c) && c >= ' ' && c != 0x7f && !letterOrDigit(c) {
				b[i] = notOfHost
			}
			h.ofLength(c)
			h.n++
		}
	}
	return len(b)
}

// inHost reports whether the next byte of the line is one of a host.
func (h *header) inHost(c byte) bool {
	before := hostField
	if h.lines == 0 {
		before = afterScheme
	}
	switch {
	case h.match == noHost:
	case h.match < len(before) && lower(c) == before[h.match]:
		h.match++
	case h.match < len(before) && (h.lines > 0 || c == '/'):
		h.match = noHost
	case h.match < len(before):
		h.match = 0
	case h.lines == 0 && (c == '/' || c == '?' || c == ' '):
		h.match = noHost
	default:
		return true
	}
	return false
}

// ofLength takes in the next byte of the line for the body's length. net/http refuses one that is no
// number, and two that differ.
func (h *header) ofLength(c byte) {
	switch {
	case h.length == noHost:
	case h.length == len(lengthField) && '0' <= c && c <= '9':
		h.body = min(h.body, math.MaxInt/10-1)*10 + int(c-'0')
	case h.length == len(lengthField):
	case lower(c) != lengthField[h.length]:
		h.length = noHost
	default:
		if h.length++; h.length == len(lengthField) {
			h.body = 0 // one of before is the same, or refused
		}
	}
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

func letterOrDigit(c byte) bool { return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z' }
