package pods

import (
	"strings"
	"testing"
)

// FuzzParse: whatever is read in the place of events is no crash.
func FuzzParse(f *testing.F) {
	f.Add([]byte("\x01\x00\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x10\x00\x00\x00name\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("\xff\xff\xff\xff\x00\x40\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if b := parse(data, 1); len(b.names) > len(data) {
			t.Errorf("%d names of %d bytes", len(b.names), len(data))
		}
	})
}

// FuzzUser: a user that is taken is one word, with a namespace, and of printable characters.
func FuzzUser(f *testing.F) {
	for _, user := range []string{"a/b", "", "/", "a/b/c", "a b/c", "\u00e9/b", strings.Repeat("x", 400)} {
		f.Add(user)
	}
	f.Fuzz(func(t *testing.T, user string) {
		if wrongUser(user) == "" && (len(strings.Fields(user)) != 1 || strings.Count(user, "/") != 1 || len(user) > longestUser || len(user) < 3) {
			t.Errorf("%q is taken", user)
		}
	})
}
