// Package publicid writes IDs as texts that tell neither their time nor how many there are, and
// reads the IDs back with the key.
//
// A public ID has the ID of a key, of two characters, and a number of 63 bits in base62, of 11.
// The number is the ID, permuted under the key by FF1, the method of NIST SP 800-38G for
// format-preserving encryption. docs/forms.md describes it, with vectors, and says what it does
// not give.
package publicid

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/flakeward/flakeward/internal/base62"
)

const (
	// Width is the length of every public ID, in characters.
	Width = keyIDWidth + base62.Width

	keyIDWidth = 2
	idBits     = 63
)

// Keys are the keys of public IDs: the current one, under which IDs are written, and others, under
// which they can still be read. Methods do not change them: any number of goroutines may use them.
type Keys struct {
	current *key
	byID    map[keyID]*key
	ids     []string
}

type keyID [keyIDWidth]byte

type key struct {
	id keyID
	*permutation
}

// IDs are the IDs of the keys, the current one's first.
func (k *Keys) IDs() []string { return slices.Clone(k.ids) }

// String names the keys by their IDs. It shows nothing of the keys themselves.
func (k *Keys) String() string { return "public ID keys " + strings.Join(k.ids, ", ") }

// GoString is String: a key is never shown.
func (k *Keys) GoString() string { return k.String() }

// AppendText appends the public ID of id, which is not negative, under the current key. It
// allocates nothing if dst has room for Width characters.
func (k *Keys) AppendText(dst []byte, id int64) []byte {
	dst = append(dst, k.current.id[:]...)
	return base62.Append(dst, int64(k.current.encrypt(uint64(id)&math.MaxInt64)))
}

// Parse returns the ID of a public ID that was written under any of the keys. Whatever has the
// right form under a known key is the public ID of some number: Parse cannot tell whether that
// number was issued. The error says what is wrong with the text.
func (k *Keys) Parse(text string) (int64, error) {
	if len(text) != Width {
		return 0, fmt.Errorf("it has %d characters, not %d", len(text), Width)
	}
	id := keyID([]byte(text[:keyIDWidth]))
	of, known := k.byID[id]
	if !known {
		return 0, fmt.Errorf("it begins with %q, which is the ID of no key here (%s): add the key that it was made with to the file of keys",
			text[:keyIDWidth], strings.Join(k.ids, ", "))
	}
	n, err := base62.Parse(text[keyIDWidth:])
	if err != nil {
		return 0, fmt.Errorf("after the key's ID, %w", err)
	}
	return int64(of.decrypt(uint64(n))), nil
}
