package base62

import (
	"cmp"
	"testing"

	"pgregory.net/rapid"
)

func TestEachNumberIsHadBackAndTextsSortAsNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.Int64Min(0).Draw(t, "a"), rapid.Int64Min(0).Draw(t, "b")
		x, y := string(Append(nil, a)), string(Append(nil, b))
		if back, err := Parse(x); back != a || err != nil {
			t.Errorf("%d is %q, which is parsed as %d, %v", a, x, back, err)
		}
		if cmp.Compare(a, b) != cmp.Compare(x, y) {
			t.Errorf("%d is %q, and %d is %q", a, x, b, y)
		}
	})
}

// FuzzParse: a text is refused, or it is what Append writes.
func FuzzParse(f *testing.F) {
	f.Add("AzL8n0Y58m7")
	f.Add("AzL8n0Y58m8")
	f.Add("0000000000\xff")
	f.Fuzz(func(t *testing.T, text string) {
		n, err := Parse(text)
		if err == nil && (n < 0 || string(Append(nil, n)) != text) {
			t.Errorf("%q is parsed as %d", text, n)
		}
	})
}
