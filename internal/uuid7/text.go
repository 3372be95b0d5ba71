package uuid7

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// TextWidth is the length of a UUID as text, in characters.
const TextWidth = 36

const (
	digits = "0123456789abcdef"
	shape  = "00000000-0000-0000-0000-000000000000"
)

// AppendText appends an ID's UUID as 36 characters in lower case. It allocates nothing if dst has
// room for them. An ID that is not of the layout gives the nil UUID, which Parse refuses.
func (c *Coder) AppendText(dst []byte, id int64) []byte {
	u, _ := c.Encode(id) // the nil UUID on an error
	for i, b := range u {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}

// Parse reads what AppendText writes, and nothing else: neither upper case nor braces. The error
// says what is wrong with the text.
func (c *Coder) Parse(text string) (int64, error) {
	if len(text) != TextWidth {
		return 0, fmt.Errorf("it has %d characters, not 36", len(text))
	}
	var u [16]byte
	n := 0
	for i := range len(text) {
		value := strings.IndexByte(digits, text[i])
		switch {
		case shape[i] == '-' && text[i] != '-':
			return 0, wrongAt(text, i, "a hyphen")
		case shape[i] == '-':
			continue
		case value < 0:
			return 0, wrongAt(text, i, "a digit of 0-9 and a-f, in lower case")
		}
		u[n/2] = u[n/2]<<4 | byte(value)
		n++
	}
	return c.Decode(u)
}

func wrongAt(text string, at int, want string) error {
	_, size := utf8.DecodeRuneInString(text[at:])
	return fmt.Errorf("it has %q as character %d, where it needs %s", text[at:at+size], at+1, want)
}
