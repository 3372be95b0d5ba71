package resp

import "strconv"

// The reply types of the protocol. Each function appends one reply, or the head of one, to out.

func appendSimple(out []byte, text string) []byte {
	out = append(out, '+')
	out = append(out, text...)
	return append(out, '\r', '\n')
}

func appendHead(out []byte, kind byte, n int64) []byte {
	out = append(out, kind)
	out = strconv.AppendInt(out, n, 10)
	return append(out, '\r', '\n')
}

func appendInt(out []byte, n int64) []byte { return appendHead(out, ':', n) }

func appendArray(out []byte, n int) []byte { return appendHead(out, '*', int64(n)) }

func appendBulk[text string | []byte](out []byte, t text) []byte {
	out = appendHead(out, '$', int64(len(t)))
	out = append(out, t...)
	return append(out, '\r', '\n')
}

// appendMap begins a map of n pairs: RESP2, which has no maps, gets a flat array.
func (s *Session) appendMap(out []byte, n int) []byte {
	if s.resp3 {
		return appendHead(out, '%', int64(n))
	}
	return appendArray(out, 2*n)
}

func (s *Session) appendNull(out []byte) []byte {
	if s.resp3 {
		return append(out, "_\r\n"...)
	}
	return append(out, "$-1\r\n"...)
}
