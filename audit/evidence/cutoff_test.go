package evidence

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// sample is some entries of every kind.
func sampleEvents() []Event {
	return []Event{
		{At: 1000, Kind: Began, Host: "h", Incarnation: "abc", Layout: "flakeward"},
		{At: 2000, Kind: Claimed, Worker: 7, Opening: "o", Floor: 99},
		{At: 3000, Kind: Extended, Worker: 7, Opening: "o", Ceiling: 1 << 40},
		{At: 4000, Kind: Issued, Run: Run{First: 1 << 60, Step: 1, N: 1}},
		{At: 4500, Kind: Issued, Run: Run{First: 1<<60 + 1, Step: 8, N: 300}},
		{At: 4400, Kind: Issued, Run: Run{First: 5, Step: 1, N: 1}},
		{At: 5000, Kind: Releasing, Worker: 7, Opening: "o", Last: 12345},
		{At: 6000, Kind: Released, Worker: 7, Opening: "o", Last: 12345},
		{At: 7000, Kind: Claimed, Worker: 8, Opening: "p", Floor: 99},
		{At: 7100, Kind: Claiming, Call: 300, Worker: 8},
		{At: 7200, Kind: Extending, Call: 301, Worker: 8, Opening: "p", Ceiling: 200, Issued: 100},
		{At: 7400, Kind: Failed, Call: 301, Worker: 8, Opening: "p", Ending: Denied},
		{At: 8000, Kind: Issued, Run: Run{First: 1 << 60, Step: 1, N: 3}},
	}
}

func sampleReplies() []Reply {
	return []Reply{
		{Connection: 1, Asking: Single, Asked: 10, Answered: 20, Outcome: Got, IDs: []Run{{First: 1 << 60, Step: 1, N: 1}}},
		{Connection: 1, Asking: InRuns, Asked: 21, Answered: 40, Outcome: Got, IDs: []Run{{First: 1<<60 + 1, Step: 4, N: 9}, {First: 1 << 61, Step: 4, N: 2}}},
		{Connection: 1, Asking: Batch, Asked: 41, Answered: 60, Outcome: Refused, Text: "UNAVAILABLE no worker ID is held yet"},
		{Connection: 2, Asking: Pipelined, Asked: 61, Answered: 61, Outcome: Unsent},
	}
}

// written returns the bytes of a log, and where each entry begins; the last is the end.
func written[E any](t *testing.T, magic string, entries []E) (data []byte, starts []int) {
	t.Helper()
	var code encoder
	data, starts = []byte(magic), []int{len(magic)}
	for _, e := range entries {
		data = append(data, must.Get(code.frame(e))(t)...)
		starts = append(starts, len(data))
	}
	return data, starts
}

// readerOf reads all of a log.
func readerOf[E any](magic string) func(io.Reader) ([]E, error) {
	return func(r io.Reader) (all []E, err error) {
		err = newReader[E](r, "log", magic).each(func(e E) error { all = append(all, e); return nil })
		return all, err
	}
}

// testCutOff checks that a log cut off anywhere holds the entries before, and that an entry that is
// none is named with its place.
func testCutOff[E any](t *testing.T, data []byte, starts []int, want []E, read func(io.Reader) ([]E, error)) {
	before := func(offset int) int { // how many entries end at or before offset
		n := 0
		for n < len(want) && starts[n+1] <= offset {
			n++
		}
		return n
	}
	for cut := range len(data) + 1 {
		got, err := read(bytes.NewReader(data[:cut]))
		if err != nil {
			t.Fatalf("cut to %d bytes: %v", cut, err)
		}
		if n := before(cut); len(got) != n || !reflect.DeepEqual(got, want[:n:n]) && n > 0 {
			t.Fatalf("cut to %d bytes: %d entries, want the first %d", cut, len(got), n)
		}
	}
	var damage *DamageError
	if _, err := read(bytes.NewReader(append([]byte("x"), data...))); !errors.As(err, &damage) || damage.Offset != 0 || damage.Path != "log" {
		t.Errorf("another file: %v", err)
	}
	other := append(bytes.Clone(data), 1, 0, 0, 0, 0xff)
	if got, err := read(bytes.NewReader(other)); !errors.As(err, &damage) || damage.Offset != int64(len(data)) || len(got) != len(want) {
		t.Errorf("an entry that is none: %d entries, %v", len(got), err)
	}
}

func TestEventsCutOffOrDamaged(t *testing.T) {
	data, starts := written(t, eventsMagic, sampleEvents())
	testCutOff(t, data, starts, sampleEvents(), readerOf[Event](eventsMagic))
}

func TestRepliesCutOffOrDamaged(t *testing.T) {
	data, starts := written(t, repliesMagic, sampleReplies())
	testCutOff(t, data, starts, sampleReplies(), readerOf[Reply](repliesMagic))
}

func TestATailFollows(t *testing.T) {
	data, _ := written(t, repliesMagic, sampleReplies())
	path := filepath.Join(t.TempDir(), "log")
	f := must.Get(os.Create(path))(t)
	defer f.Close()
	tail := must.Get(OpenTail(path))(t)
	defer tail.Close()
	var got []Reply
	for i := range data { // a byte at a time
		must.Get(f.Write(data[i : i+1]))(t)
		r, ok, err := tail.Next()
		must.Do(t, err)
		if ok {
			got = append(got, r)
		}
	}
	if !reflect.DeepEqual(got, sampleReplies()) {
		t.Errorf("read %+v", got)
	}
}
