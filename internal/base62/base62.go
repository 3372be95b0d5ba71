// Package base62 writes numbers of 63 bits in 11 characters that sort like the numbers.
package base62

import (
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

// Width is how many characters a number takes: 62^10 < 2^63 < 62^11.
const Width = 11

// alphabet is in the order of its bytes, so texts sort as bytes like their numbers.
const alphabet = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

// values are the values of the characters, and none of all other bytes.
var values = func() (table [256]uint8) {
	for i := range table {
		table[i] = none
	}
	for i := range len(alphabet) {
		table[alphabet[i]] = uint8(i)
	}
	return table
}()

const none = 0xff

// Append appends the Width characters of n, which is not negative.
func Append(dst []byte, n int64) []byte {
	var text [Width]byte
	rest := uint64(n)
	for i := range Width {
		text[Width-1-i] = alphabet[rest%62]
		rest /= 62
	}
	return append(dst, text[:]...)
}

var errTooLarge = errors.New("it is above AzL8n0Y58m7, the largest number of 63 bits")

// Parse reads what Append writes. The error says what is wrong with the text.
func Parse(text string) (int64, error) {
	if len(text) != Width {
		return 0, fmt.Errorf("it has %d characters, not %d", len(text), Width)
	}
	n := uint64(0)
	for i := range len(text) {
		v := uint64(values[text[i]])
		if v == none {
			_, size := utf8.DecodeRuneInString(text[i:])
			return 0, fmt.Errorf("it has %q, and its characters are 0-9, A-Z and a-z", text[i:i+size])
		}
		if n > (math.MaxInt64-v)/62 {
			return 0, errTooLarge
		}
		n = n*62 + v
	}
	return int64(n), nil
}
