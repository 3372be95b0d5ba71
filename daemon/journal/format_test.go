package journal

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/flakeward/flakeward/daemon/place"
	"github.com/flakeward/flakeward/internal/must"
)

// written is where the journals of these tests were written.
var written = place.Place{
	Host: place.Host{Boot: "0d5c", Machine: "9f86d081884c7d65", VM: "3"},
	Dir:  place.File{Device: 65024, Inode: 1835009, Handle: "1:0100001c7e57ab1e"}, Lock: place.File{Device: 65024, Inode: 1835010},
	Journal: place.File{Device: 65024, Inode: 1835011, Handle: "1:0300001c5eed5eed"},
}

func encoded(t testing.TB, c Contents, number uint64) []byte {
	t.Helper()
	c.Place = written
	return must.Get(encode(c, number))(t)
}

// TestTheFormat pins the bytes of version 3: journals outlive a daemon's version.
func TestTheFormat(t *testing.T) {
	want := must.Get(os.ReadFile("testdata/version3.slot"))(t)
	if got := encoded(t, contents(1234), 7); !bytes.Equal(got, want) {
		t.Errorf("a journal is written as\n%s\nwant\n%s", got, want)
	}
	if slotSize != 32768 || slotOf(6) != 0 || slotOf(7) != 32768 {
		t.Errorf("writes 6 and 7 are at %d and %d", slotOf(6), slotOf(7))
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
	whole := encoded(t, contents(7), 2)
	head, body, _ := bytes.Cut(whole, []byte("\n"))
	head = append(head, '\n')
	withBody := func(s string) []byte { return frame([]byte(s), 2) }
	for name, tt := range map[string]struct {
		data []byte
		says string
	}{
		"half a first line":         {head[:10], "cut off"},
		"a first line alone":        {head, "promises"},
		"half a body":               {whole[:len(whole)/2], "promises"},
		"all but the last byte":     {whole[:len(whole)-1], "promises"},
		"another's file":            {[]byte("hello\n{}\n"), "first line"},
		"an earlier version":        {[]byte("flakeward journal 1 crc32c 0d9a1b02 bytes 312\n{}\n"), "version 1"},
		"a later version":           {bytes.Replace(whole, []byte("journal 3 "), []byte("journal 4 "), 1), "version 4"},
		"a body of zeros":           {append(bytes.Clone(head), make([]byte, len(body))...), "checksum"},
		"a first line that goes on": {append(append(bytes.Clone(head[:len(head)-1]), " x\n"...), body...), "checksum"},
		"another number":            {bytes.Replace(whole, []byte("number 2 "), []byte("number 4 "), 1), "checksum"},
		"number 0":                  {frame(body, 0), "first line"},
		"in the other slot":         {frame(body, 3), "other write's place"},
		"no JSON":                   {withBody("{"), "EOF"},
		"an unknown key":            {withBody(strings.Replace(string(body), "{", `{"more": 1,`, 1)), "unknown field"},
		"a key given twice":         {withBody(strings.Replace(string(body), "{", `{"coord": "x",`, 1)), "more than"},
		"a second value":            {withBody(string(body) + "{}\n"), "more than"},
		"an impossible mark":        {withBody(strings.Replace(string(body), `"mark": 7`, `"mark": -7`, 1)), "below 0"},
		"one worker ID twice":       {withBody(strings.Replace(string(body), `"worker": 1023`, `"worker": 0`, 1)), "two entries"},
		"no opening":                {withBody(strings.Replace(string(body), `"o-1"`, `""`, 1)), "no opening"},
	} {
		t.Run(name, func(t *testing.T) {
			d := open(t, t.TempDir())
			must.Do(t, os.WriteFile(filepath.Join(d.Path(), journalName), tt.data, 0o600))
			wantTorn(t, d, tt.says)
			write(t, d, contents(8)) // it bars nobody's way
			wantRead(t, d, contents(8))
		})
	}
}

// A file of which nothing was written yet, as a crash in its making leaves it, is no journal.
func TestAJournalOfZerosIsNone(t *testing.T) {
	for _, size := range []int{0, 1, slotSize, fileSize - 1, fileSize} {
		d := open(t, t.TempDir())
		must.Do(t, os.WriteFile(filepath.Join(d.Path(), journalName), make([]byte, size), 0o600))
		if _, err := d.Read(); !errors.Is(err, ErrNone) {
			t.Errorf("%d zeros: %v, want ErrNone", size, err)
		}
		write(t, d, contents(8))
		wantRead(t, d, contents(8))
	}
}

// What is left of a longer text behind a shorter one is not read.
func TestAShorterTextOverALongerOne(t *testing.T) {
	d := open(t, t.TempDir())
	long, short := contents(1), contents(2)
	long.Coord += strings.Repeat("x", 5000)
	short.Entries = short.Entries[:1]
	for _, c := range []Contents{long, long, short, short, long, short} {
		write(t, d, c)
		wantRead(t, d, c)
	}
}

func TestAJournalThatIsNoFile(t *testing.T) {
	d := open(t, t.TempDir())
	path := filepath.Join(d.Path(), journalName)
	must.Do(t, syscall.Mkfifo(path, 0o600))
	wantTorn(t, d, "no regular file") // and does not wait for someone to write into it
	must.Do(t, os.Remove(path))
	must.Do(t, os.Symlink(lockName, path))
	wantTorn(t, d, "no regular file")
	write(t, d, contents(1))
	wantRead(t, d, contents(1))
}

// TestNoBitMayChange: a journal that differs in one bit, or was cut anywhere, is
// never read as something else.
func TestNoBitMayChange(t *testing.T) {
	whole := encoded(t, contents(7), 2)
	if f := decode(whole); f.number != 2 || f.reason != "" {
		t.Fatal(f.reason)
	}
	for i := range whole {
		for bit := range 8 {
			changed := bytes.Clone(whole)
			changed[i] ^= 1 << bit
			if f := decode(changed); f.number != 0 || f.reason == "" {
				t.Errorf("bit %d of byte %d changed, and nobody noticed", bit, i)
			}
		}
		if f := decode(whole[:i]); f.number != 0 {
			t.Errorf("cut to %d bytes, and nobody noticed", i)
		}
	}
}

// FuzzDecode: whatever the file holds, decoding ends without a panic, and what it
// accepts is exactly what would be written.
func FuzzDecode(f *testing.F) {
	f.Add(encoded(f, contents(7), 2))
	f.Add(append(append(encoded(f, contents(7), 2), make([]byte, slotSize)...)[:slotSize], encoded(f, contents(8), 3)...))
	f.Fuzz(func(t *testing.T, data []byte) { checkDecode(t, data) })
}

// FuzzBody does the same behind a first line that is right, which no fuzzer finds
// by itself.
func FuzzBody(f *testing.F) {
	_, body, _ := bytes.Cut(encoded(f, contents(7), 2), []byte("\n"))
	f.Add(body)
	for old, with := range map[string]string{
		`"mark": 7,`: `"mark": -7,`, `"mark": 7`: `"mark": 7.5`, `"ceiling": 0`: `"ceiling": 9223372036854775808`, `"worker": 1023`: `"worker": 0`,
		`"6f1c"`: "\"\xff\"", `"lanes": [`: `"lanes": null, "lanes": [`, `"boot": "0d5c"`: `"boot": 5`, `"inode": 1835010`: `"inode": -1`,
	} {
		f.Add(bytes.Replace(body, []byte(old), []byte(with), 1))
	}
	f.Add(append(bytes.Clone(body), body...))
	f.Fuzz(func(t *testing.T, body []byte) { checkDecode(t, frame(body, 2)) })
}

func checkDecode(t *testing.T, data []byte) {
	got := decode(data)
	if got.number == 0 {
		return
	}
	again, err := encode(got.contents, got.number)
	at := slotOf(got.number)
	if err != nil || int(at)+len(again) > len(data) || !bytes.Equal(again, data[at:][:len(again)]) {
		t.Fatalf("%q was accepted as write %d, %+v, which is written as %q, %v", data, got.number, got.contents, again, err)
	}
}

// TestWhatAnotherVersionWroteLastHidesWhatCameBefore: the older of two writes is believed where the
// newer one is torn, and not where the newer one is whole and says what this version does not know.
func TestWhatAnotherVersionWroteLastHidesWhatCameBefore(t *testing.T) {
	older, newer := encoded(t, contents(7), 2), encoded(t, contents(8), 3)
	file := func(second []byte) []byte {
		data := make([]byte, fileSize)
		copy(data, older)
		copy(data[slotSize:], second)
		return data
	}
	for name, tt := range map[string]struct {
		second []byte
		number uint64 // 0: nothing is believed
	}{
		"whole":                  {newer, 3},
		"torn":                   {newer[:len(newer)-20], 2},
		"of a later version":     {bytes.Replace(newer, []byte("journal 3 "), []byte("journal 4 "), 1), 0},
		"with a key of a later":  {frame(bytes.Replace(bytes.Clone(newer[bytes.IndexByte(newer, '{'):]), []byte("{"), []byte(`{"more": 1,`), 1), 3), 0},
		"zeros":                  {nil, 2},
		"of an earlier one, old": {[]byte("flakeward journal 1 crc32c 0d9a1b02 bytes 312\n{}\n"), 0},
	} {
		f := decode(file(tt.second))
		if f.number != tt.number || (f.reason == "") != (tt.number != 0) {
			t.Errorf("%s: write %d is believed (%s), want %d", name, f.number, f.reason, tt.number)
		}
	}
}
