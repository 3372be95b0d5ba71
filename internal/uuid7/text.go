package uuid7

import (
	"encoding/hex"
	"fmt"
	"unicode/utf8"
)

// TextWidth is the length of a UUID as text, in characters.
const TextWidth = 36

// groups are where the hyphens of a UUID's text are, and the bytes between them.
var groups = [...]struct{ text, bytes, length int }{{0, 0, 4}, {9, 4, 2}, {14, 6, 2}, {19, 8, 2}, {24, 10, 6}}

// AppendText appends an ID's UUID as 36 characters in lower case. It allocates nothing if dst has
// room for them. An ID that is not of the layout gives the nil UUID, which Parse refuses.
func (c *Coder) AppendText(dst []byte, id int64) []byte {
	u, _ := c.Encode(id) // the nil UUID on an error
	var text [TextWidth]byte
	for _, g := range groups {
		hex.Encode(text[g.text:], u[g.bytes:g.bytes+g.length])
		if end := g.text + 2*g.length; end < TextWidth {
			text[end] = '-'
		}
	}
	return append(dst, text[:]...)
}

// Parse reads what AppendText writes, and nothing else: neither upper case nor braces. The error
// says what is wrong with the text.
func (c *Coder) Parse(text string) (int64, error) {
	if len(text) != TextWidth {
		return 0, fmt.Errorf("it has %d characters, not 36", len(text))
	}
	var u [16]byte
	for _, g := range groups {
		for i := range g.length {
			at := g.text + 2*i
			high, low := digit(text[at]), digit(text[at+1])
			if high > 15 || low > 15 {
				if high <= 15 {
					at++
				}
				return 0, wrongAt(text, at, "a digit of 0-9 and a-f, in lower case")
			}
			u[g.bytes+i] = high<<4 | low
		}
		if end := g.text + 2*g.length; end < TextWidth && text[end] != '-' {
			return 0, wrongAt(text, end, "a hyphen")
		}
	}
	return c.Decode(u)
}

// digit is the value of a hexadecimal digit, above 15 for all other bytes.
func digit(b byte) byte {
	switch {
	case '0' <= b && b <= '9':
		return b - '0'
	case 'a' <= b && b <= 'f':
		return b - 'a' + 10
	}
	return 0xff
}

func wrongAt(text string, at int, want string) error {
	_, size := utf8.DecodeRuneInString(text[at:])
	return fmt.Errorf("it has %q as character %d, where it needs %s", text[at:at+size], at+1, want)
}
