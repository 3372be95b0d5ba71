package base62

import (
	"cmp"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestTextsOfKnownNumbers(t *testing.T) {
	for n, text := range map[int64]string{0: "00000000000", 61: "0000000000z", 62: "00000000010", math.MaxInt64: "AzL8n0Y58m7"} {
		if got := string(Append(nil, n)); got != text {
			t.Errorf("Append(%d) = %q, want %q", n, got, text)
		}
	}
}

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

func TestParseSaysWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":            "0 characters, not 11",
		"0000000000-": `has "-"`,
		"000000000é":  `has "é"`,
		"AzL8n0Y58m8": "above AzL8n0Y58m7",
		"zzzzzzzzzzz": "above",
	} {
		if n, err := Parse(text); err == nil || n != 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %d, %v; want an error with %q", text, n, err, want)
		}
	}
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
