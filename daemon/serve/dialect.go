package serve

import "bytes"

// dialect is what a connection speaks.
type dialect uint8

const (
	untold dialect = iota // the first line is not there yet
	speaksRESP
	speaksHTTP
)

// longestFirst is how many bytes of a first line are looked at, at most.
const longestFirst = 16 << 10

// dialectOf tells a connection's dialect by its first bytes, of which there is at least one. HTTP/1
// has a first line that ends in " HTTP/1." and a digit, and HTTP/2 one of its own; all else is
// RESP. The answer for a line is the same in however many parts it arrives.
func dialectOf(first []byte) dialect {
	if first[0] == '*' {
		return speaksRESP
	}
	end := bytes.IndexByte(first[:min(len(first), longestFirst)], '\n')
	switch {
	case end >= 0:
		if line := bytes.TrimSuffix(first[:end], []byte{'\r'}); string(line) == preface || asks(line) {
			return speaksHTTP
		}
		return speaksRESP
	case len(first) < longestFirst:
		return untold
	case names(first):
		return speaksHTTP // it says that the line is too long in words that the client knows
	}
	return speaksRESP
}

// preface is the first line of HTTP/2, if the client does not ask first whether it is spoken.
const preface = "PRI * HTTP/2.0"

// asks reports whether a line ends as the first one of HTTP/1 does.
func asks(line []byte) bool {
	const version = " HTTP/1."
	last := len(line) - 1
	return last >= len(version) && '0' <= line[last] && line[last] <= '9' && bytes.HasSuffix(line[:last], []byte(version))
}

// names reports whether a line begins with a method and a path.
func names(line []byte) bool {
	method, path, _ := bytes.Cut(line[:min(len(line), 16)], []byte{' '})
	return bytes.HasPrefix(path, []byte{'/'}) && len(bytes.TrimFunc(method, func(r rune) bool { return 'A' <= r && r <= 'Z' })) == 0
}
