package publicid

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"pgregory.net/rapid"
)

const twoKeys = "k2 000102030405060708090a0b0c0d0e0f\nk1 2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94\n"

func parsed(t testing.TB, text string) *Keys {
	t.Helper()
	keys, err := ParseKeys(text)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func TestEachIDIsHadBackFromItsPublicID(t *testing.T) {
	keys := parsed(t, twoKeys)
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.Int64Min(0).Draw(t, "id")
		text := string(keys.AppendText(nil, id))
		if back, err := keys.Parse(text); back != id || err != nil || len(text) != Width {
			t.Errorf("%d is %q, which is parsed as %d, %v", id, text, back, err)
		}
	})
}

var vector = regexp.MustCompile("(?m)^\\| `(\\w\\w \\w+)` \\| (\\d+) \\| (\\d+) \\| `(.*)` \\|$")

func TestVectorsOfThePage(t *testing.T) {
	page, err := os.ReadFile("../../docs/forms.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := vector.FindAllStringSubmatch(string(page), -1)
	if len(rows) < 10 {
		t.Fatalf("docs/forms.md has %d vectors of public IDs", len(rows))
	}
	for _, row := range rows {
		keys := parsed(t, row[1])
		id, err := strconv.ParseInt(row[2], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if got := strconv.FormatUint(keys.current.encrypt(uint64(id)), 10); got != row[3] {
			t.Errorf("%s: %d is permuted to %s, the page says %s", row[1], id, got, row[3])
		}
		if got := string(keys.AppendText(nil, id)); got != row[4] {
			t.Errorf("%s: %d is %s, the page says %s", row[1], id, got, row[4])
		}
		if got, err := keys.Parse(row[4]); got != id || err != nil {
			t.Errorf("%s: %s is %d, %v, the page says %d", row[1], row[4], got, err, id)
		}
	}
}
