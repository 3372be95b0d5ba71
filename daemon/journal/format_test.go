package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func encoded(t testing.TB, c Contents) []byte {
	t.Helper()
	data, err := encode(c)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestTheFormat pins the bytes of version 1: journals outlive a daemon's version.
func TestTheFormat(t *testing.T) {
	want, err := os.ReadFile("testdata/version1.journal")
	if err != nil {
		t.Fatal(err)
	}
	if got := encoded(t, contents(1234)); !bytes.Equal(got, want) {
		t.Errorf("a journal is written as\n%s\nwant\n%s", got, want)
	}
}

func wantTorn(t *testing.T, d *Dir, says string) {
	t.Helper()
	_, err := d.Read()
	var torn *TornError
	if !errors.As(err, &torn) || torn.Path != filepath.Join(d.Path(), journalName) ||
		!strings.Contains(err.Error(), torn.Path) || !strings.Contains(torn.Reason, says) {
		t.Fatalf("Read: %v, want a TornError of the journal that says %q", err, says)
	}
}

func TestATornJournalIsNamedAndNotTrusted(t *testing.T) {
	whole := encoded(t, contents(7))
	head, body, _ := bytes.Cut(whole, []byte("\n"))
	head = append(head, '\n')
	withBody := func(s string) []byte { return append(header([]byte(s)), s...) }
	for name, tt := range map[string]struct {
		data []byte
		says string
	}{
		"empty":                     {nil, "cut off"},
		"half a first line":         {head[:10], "cut off"},
		"a first line alone":        {head, "promises"},
		"half a body":               {whole[:len(whole)/2], "promises"},
		"all but the last byte":     {whole[:len(whole)-1], "promises"},
		"a byte too many":           {append(bytes.Clone(whole), '\n'), "promises"},
		"another's file":            {[]byte("hello\n{}\n"), "first line"},
		"a later version":           {bytes.Replace(whole, []byte("journal 1 "), []byte("journal 2 "), 1), "version 2"},
		"a body of zeros":           {append(bytes.Clone(head), make([]byte, len(body))...), "checksum"},
		"a first line that goes on": {append(append(bytes.Clone(head[:len(head)-1]), " x\n"...), body...), "checksum"},
		"too large":                 {bytes.Repeat([]byte("x"), maxBytes+1), "larger"},
		"no JSON":                   {withBody("{"), "EOF"},
		"an unknown key":            {withBody(strings.Replace(string(body), "{", `{"more": 1,`, 1)), "unknown field"},
		"a key given twice":         {withBody(strings.Replace(string(body), "{", `{"coord": "x",`, 1)), "more than"},
		"a second value":            {withBody(string(body) + "{}\n"), "more than"},
		"an impossible mark":        {withBody(strings.Replace(string(body), `"mark": 7,`, `"mark": -7,`, 1)), "below 0"},
		"one worker ID twice":       {withBody(strings.Replace(string(body), `"worker": 1023`, `"worker": 0`, 1)), "two lanes"},
		"no opening":                {withBody(strings.Replace(string(body), `"o-1"`, `""`, 1)), "no opening"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			must(t, os.WriteFile(filepath.Join(d.Path(), journalName), tt.data, 0o600))
			wantTorn(t, d, tt.says)
			write(t, d, contents(8)) // it bars nobody's way
			wantRead(t, d, contents(8))
		})
	}
}

func TestAJournalThatIsNoFile(t *testing.T) {
	d := open(t, t.TempDir())
	path := filepath.Join(d.Path(), journalName)
	must(t, syscall.Mkfifo(path, 0o600))
	wantTorn(t, d, "no regular file") // and does not wait for someone to write into it
	must(t, os.Remove(path))
	must(t, os.Symlink(lockName, path))
	wantTorn(t, d, "no regular file")
	write(t, d, contents(1))
	wantRead(t, d, contents(1))
}

// TestNoBitMayChange: a journal that differs in one bit, or was cut anywhere, is
// never read as something else.
func TestNoBitMayChange(t *testing.T) {
	whole := encoded(t, contents(7))
	if _, reason := decode(whole); reason != "" {
		t.Fatal(reason)
	}
	for i := range whole {
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[i] ^= 1 << bit
			if _, reason := decode(changed); reason == "" {
				t.Errorf("bit %d of byte %d changed, and nobody noticed", bit, i)
			}
		}
		if _, reason := decode(whole[:i]); reason == "" {
			t.Errorf("cut to %d bytes, and nobody noticed", i)
		}
	}
}

// FuzzDecode: whatever the file holds, decoding ends without a panic, and what it
// accepts is exactly what would be written.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, contents(7)))
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, data) })
}

// FuzzBody does the same behind a first line that is right, which no fuzzer finds
// by itself.
func FuzzBody(f *testing.F) {
	_, body, _ := bytes.Cut(encoded(f, contents(7)), []byte("\n"))
	f.Add(body)
	f.Fuzz(func(t *testing.T, body []byte) { checkDecode(t, append(header(body), body...)) })
}

func checkDecode(t *testing.T, data []byte) {
	c, reason := decode(data)
	if reason != "" {
		return
	}
	again, err := encode(c)
	if err != nil || !bytes.Equal(again, data) {
		t.Fatalf("%q was accepted as %+v, which is written as %q, %v", data, c, again, err)
	}
}
