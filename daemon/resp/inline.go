package resp

import (
	"bytes"
	"slices"
)

const inlineSpace = " \t\r\v\f" // what separates the words of an inline command

func (p *parser) parseInline(in []byte) (args [][]byte, n int, r *Refusal) {
	end := bytes.IndexByte(in, '\n')
	if end > p.limits.Inline || end < 0 && len(in) > p.limits.Inline {
		return nil, 0, broken("a line has at most %d bytes", p.limits.Inline)
	}
	if end < 0 {
		return nil, 0, nil
	}
	args = p.args[:0]
	line := in[:end]
	quoted := bytes.ContainsAny(line, `"'`)
	if quoted {
		p.words = slices.Grow(p.words[:0], len(line)) // no word is longer than it was written
	}
	for {
		line = bytes.TrimLeft(line, inlineSpace)
		if len(line) == 0 {
			break
		}
		if len(args) == p.limits.Args {
			return nil, 0, broken("a request has at most %d arguments", p.limits.Args)
		}
		var word []byte
		if quoted {
			if word, line = p.word(line); word == nil {
				return nil, 0, broken("unbalanced quotes")
			}
		} else {
			stop := bytes.IndexAny(line, inlineSpace)
			if stop < 0 {
				stop = len(line)
			}
			word, line = line[:stop], line[stop:]
		}
		args = append(args, word)
	}
	p.args = args
	return args, end + 1, nil
}

// word reads the word that line begins with, as Redis does: quotes may begin anywhere in a word and
// end it. In "..." a backslash begins an escape, in '...' it does so only before a quote. The word
// is nil if the quotes do not end, or do not end the word.
func (p *parser) word(line []byte) (word, rest []byte) {
	from := len(p.words)
	var quote byte
	i := 0
	for ; i < len(line); i++ {
		c := line[i]
		switch {
		case quote == 0 && bytes.IndexByte([]byte(inlineSpace), c) >= 0:
			return p.words[from:len(p.words):len(p.words)], line[i:]
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
			continue
		case quote != 0 && c == quote:
			if i+1 < len(line) && bytes.IndexByte([]byte(inlineSpace), line[i+1]) < 0 {
				return nil, nil
			}
			quote = 0
			continue
		case quote == '"' && c == '\\' && i+1 < len(line):
			var used int
			c, used = escape(line[i+1:])
			i += used
		case quote == '\'' && c == '\\' && i+1 < len(line) && line[i+1] == '\'':
			c = '\''
			i++
		}
		p.words = append(p.words, c)
	}
	if quote != 0 {
		return nil, nil
	}
	return p.words[from:len(p.words):len(p.words)], nil
}

// escape is the byte that the text behind a backslash stands for, and how long that text is.
func escape(text []byte) (c byte, used int) {
	if len(text) >= 3 && text[0] == 'x' {
		high, low := hexDigit(text[1]), hexDigit(text[2])
		if high >= 0 && low >= 0 {
			return byte(high<<4 | low), 3
		}
	}
	switch text[0] {
	case 'n':
		return '\n', 1
	case 'r':
		return '\r', 1
	case 't':
		return '\t', 1
	case 'b':
		return '\b', 1
	case 'a':
		return '\a', 1
	}
	return text[0], 1
}

func hexDigit(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
