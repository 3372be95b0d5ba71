package publicid

import (
	"strings"
	"testing"
)

// FuzzParse: a text is refused, or begins with a known key's ID and stands for one ID, which is
// written so under that key.
func FuzzParse(f *testing.F) {
	keys := parsed(f, twoKeys)
	f.Add(string(keys.AppendText(nil, 1)))
	f.Add("k1AzL8n0Y58m7")
	f.Add("k1AzL8n0Y58m8")
	f.Add("k3AzL8n0Y58m7")
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		id, err := keys.Parse(text)
		if err != nil {
			if id != 0 || len(err.Error()) > 400 {
				t.Errorf("Parse(%q) = %d, %v", text, id, err)
			}
			return
		}
		again := &Keys{current: keys.byID[keyID([]byte(text[:keyIDWidth]))]}
		if got := string(again.AppendText(nil, id)); got != text {
			t.Errorf("%q is parsed as %d, which is written as %q", text, id, got)
		}
	})
}

// FuzzParseKeys: a file of keys makes keys with the IDs that it has, or an error that shows nothing
// of a key.
func FuzzParseKeys(f *testing.F) {
	f.Add(twoKeys)
	f.Add("# comment\n\n  k1\t00000000000000000000000000000000\r\n")
	f.Add("k1 0000000000000000000000000000000g")
	f.Add("000102030405060708090a0b0c0d0e0f")
	f.Fuzz(func(t *testing.T, text string) {
		keys, err := ParseKeys(text)
		if err != nil {
			for _, word := range strings.Fields(text) {
				if len(word) > 12 && strings.Contains(err.Error(), word) && !strings.Contains(howTo, word) {
					t.Errorf("the error shows a word of the file: %v", err)
				}
			}
			if keys != nil || len(err.Error()) > 400 {
				t.Errorf("%v, %v", keys, err)
			}
			return
		}
		if got := string(keys.AppendText(nil, 7)); !strings.HasPrefix(got, keys.IDs()[0]) || !strings.Contains(text, keys.IDs()[0]) {
			t.Errorf("%q is written with the keys %v", got, keys)
		}
	})
}
