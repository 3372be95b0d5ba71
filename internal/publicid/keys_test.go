package publicid

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	first  = "k1 " + key128 + "\n"
	second = "k2 000102030405060708090a0b0c0d0e0f\n"
)

// A rotation takes two steps: the new key is added below the current one, so that every daemon can
// read what any of them will write; then it is moved to the top. What was written before is read as
// before, and the new texts by those that still write under the old key.
func TestRotatedKeysStillDecode(t *testing.T) {
	before, between, after, without := parsed(t, first), parsed(t, first+second), parsed(t, second+first), parsed(t, second)
	const id = 1<<60 | 4711
	old, new := string(before.AppendText(nil, id)), string(after.AppendText(nil, id))
	if old[:2] != "k1" || new[:2] != "k2" || old[2:] == new[2:] {
		t.Errorf("%s before, %s after: not of their keys", old, new)
	}
	if got := string(between.AppendText(nil, id)); got != old {
		t.Errorf("with the new key below the current one %d is %s, want %s", id, got, old)
	}
	for _, text := range []string{old, new} {
		for _, keys := range []*Keys{between, after} {
			if got, err := keys.Parse(text); got != id || err != nil {
				t.Errorf("%v: %s is parsed as %d, %v", keys, text, got, err)
			}
		}
	}
	if got, err := without.Parse(old); err == nil || got != 0 || !strings.Contains(err.Error(), `"k1", which is the ID of no key here (k2): add the key`) {
		t.Errorf("without its key %s is parsed as %d, %v", old, got, err)
	}
	if got := after.String(); got != "public ID keys k2, k1" {
		t.Error(got)
	}
}

func TestParseSaysWhatIsWrongWithAPublicID(t *testing.T) {
	keys := parsed(t, first)
	for text, want := range map[string]string{
		"":               "0 characters, not 13",
		"k1AzL8n0Y58m70": "14 characters, not 13",
		"K1AzL8n0Y58m7":  `"K1", which is the ID of no key here`,
		"k1AzL8n0Y58m8":  "after the key's ID, it is above",
		"k1AzL8n0Y58m-":  `after the key's ID, it has "-"`,
	} {
		if got, err := keys.Parse(text); err == nil || got != 0 || !strings.Contains(err.Error(), want) {
			t.Errorf("Parse(%q) = %d, %v; want an error with %q", text, got, err, want)
		}
	}
}

func TestFilesOfKeys(t *testing.T) {
	for _, c := range []struct {
		name, text, ids, want string
	}{
		{"one key", first, "k1", ""},
		{"AES-256", "zz " + key256, "zz", ""},
		{"upper case", "k1 " + strings.ToUpper(key128), "k1", ""},
		{"comments, blanks and other line ends", "# the current one\r\n\r\n  k2\t" + key256 + "\r\n# before 2026\r\n" + first, "k2 k1", ""},
		{"empty", "", "", "it has no key: write a line such as the output of: echo k1 $(openssl rand -hex 16)"},
		{"comments alone", "# k1 " + key128, "", "it has no key"},
		{"no ID", key128, "", "line 1: 1 words"},
		{"three words", first + "k2 x " + key128, "", "line 2: 3 words"},
		{"a long ID", "key " + key128, "", "two characters of 0-9 and a-z"},
		{"an ID in upper case", "K1 " + key128, "", "two characters of 0-9 and a-z"},
		{"a key too short", "k1 " + key128[2:], "", "the key k1 has 30 characters, not 32 or 64: make one with: openssl rand -hex 16"},
		{"AES-192", "k1 " + key256[:48], "", "48 characters, not 32 or 64"},
		{"no digits", "k1 " + key128[:31] + "g", "", "the key k1 has characters other than 0-9 and a-f"},
		{"an ID twice", first + "k1 " + key256, "", "line 2: the ID k1 is there twice"},
		{"a key twice", first + "\nk2 " + strings.ToUpper(key128), "", "line 3: the keys k1 and k2 are the same: make a new one"},
	} {
		path := filepath.Join(t.TempDir(), "keys")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		keys, err := ReadFile(path)
		if c.want != "" {
			if err == nil || keys != nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) || shows(err.Error()) {
				t.Errorf("%s: %v, %v; want an error with the path and %q, and nothing of a key", c.name, keys, err, c.want)
			}
			continue
		}
		if err != nil || strings.Join(keys.IDs(), " ") != c.ids {
			t.Errorf("%s: %v, %v; want %s", c.name, keys, err, c.ids)
		}
	}
}

// shows reports whether a text has a part of a key.
func shows(text string) bool {
	text = strings.ToLower(text)
	return strings.Contains(text, key128[:6]) || strings.Contains(text, key128[20:26]) || strings.Contains(text, key256[40:46])
}

func TestKeysAreNeverShown(t *testing.T) {
	keys := parsed(t, first)
	for _, format := range []string{"%v", "%+v", "%s", "%#v", "%q", "%x"} {
		if text := fmt.Sprintf(format, keys); shows(text) {
			t.Errorf("%s shows a key: %s", format, text)
		}
	}
}

func TestFilesThatOthersMayReadAreRefused(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "keys")
	if err := os.WriteFile(path, []byte(first), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, fine := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o640: true, 0o440: true, 0o644: false, 0o660: false, 0o604: false, 0o602: false, 0o601: false} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		_, err := ReadFile(path)
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), fmt.Sprintf("its mode is %#o, so others may read or change it: take their rights away (chmod 0600)", mode)) {
			t.Errorf("mode %#o: %v", mode, err)
		}
	}
	for _, c := range []struct{ path, want string }{
		{filepath.Join(dir, "none"), "none, cannot be used: no such file"},
		{dir, dir + ", cannot be used: "},
	} {
		if keys, err := ReadFile(c.path); err == nil || keys != nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, %v; want %q", keys, err, c.want)
		}
	}
	if err := os.WriteFile(path, []byte(strings.Repeat("#\n", maxFile)), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(path); err == nil || !strings.Contains(err.Error(), "longer than 65536 bytes") {
		t.Error(err)
	}
}

func TestPublicIDsAllocateNothing(t *testing.T) {
	keys := parsed(t, first)
	dst := make([]byte, 0, Width)
	text := string(keys.AppendText(nil, 1<<60))
	if n := testing.AllocsPerRun(1000, func() {
		dst = keys.AppendText(dst[:0], 1<<60)
		if _, err := keys.Parse(text); err != nil {
			t.Error(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
