package claims

import (
	"encoding/binary"
	"fmt"
	"io"
)

// random is where tokens and choices come from.
type random struct{ from io.Reader }

// letters are those of base32: 5 bits each.
const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"

// token returns 130 random bits as letters and digits.
func (r random) token() string {
	var b [26]byte
	r.draw(b[:])
	for i := range b {
		b[i] = letters[b[i]%byte(len(letters))]
	}
	return string(b[:])
}

// pick returns one of the numbers from 0 to n-1, about as likely as each other.
func (r random) pick(n int) int {
	var b [8]byte
	r.draw(b[:])
	return int(binary.LittleEndian.Uint64(b[:]) % uint64(n))
}

// draw fills b. Without random bits no token is one of a kind: crypto/rand ends the process then,
// and so does this.
func (r random) draw(b []byte) {
	if _, err := io.ReadFull(r.from, b); err != nil {
		panic(fmt.Errorf("no random bits: %w", err))
	}
}
