package evidence

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"syscall"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var runs = rapid.Custom(func(t *rapid.T) Run {
	return rapid.Custom(func(t *rapid.T) Run {
		return Run{
			First: rapid.Int64().Draw(t, "first"),
			Step:  rapid.OneOf(rapid.Just[int64](1), rapid.Int64Min(1)).Draw(t, "step"),
			N:     rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 100000), rapid.IntMin(1)).Draw(t, "n"),
		}
	}).Filter(func(r Run) bool { return r.check() == nil }).Draw(t, "run")
})

var events = rapid.Custom(func(t *rapid.T) Event {
	e := Event{At: Mono(rapid.Int64().Draw(t, "at")), Kind: Kind(rapid.Uint8Range(uint8(Began), uint8(Released)).Draw(t, "kind"))}
	tick := func(name string) generator.Tick { return generator.Tick(rapid.Int64().Draw(t, name)) }
	switch e.Kind {
	case Began:
		e.Host, e.Incarnation, e.Layout = rapid.String().Draw(t, "host"), rapid.String().Draw(t, "incarnation"), rapid.String().Draw(t, "layout")
		return e
	case Issued:
		e.Run = runs.Draw(t, "run")
		return e
	case Claimed:
		e.Continues, e.Floor = rapid.Bool().Draw(t, "continues"), tick("floor")
	case Extended:
		e.Ceiling = tick("ceiling")
	default:
		e.Last = tick("last")
	}
	e.Worker, e.Opening = rapid.IntMin(0).Draw(t, "worker"), rapid.String().Draw(t, "opening")
	return e
})

var replies = rapid.Custom(func(t *rapid.T) Reply {
	r := Reply{
		Connection: rapid.Uint32().Draw(t, "connection"),
		Asking:     Asking(rapid.Uint8Range(uint8(Single), uint8(InRuns)).Draw(t, "asking")),
		Asked:      Mono(rapid.Int64().Draw(t, "asked")),
		Answered:   Mono(rapid.Int64().Draw(t, "answered")),
		Outcome:    Outcome(rapid.Uint8Range(uint8(Got), uint8(Unsent)).Draw(t, "outcome")),
		IDs:        rapid.SliceOfN(runs, 0, 5).Draw(t, "ids"),
		Text:       rapid.String().Draw(t, "text"),
	}
	if len(r.IDs) == 0 {
		r.IDs = nil
	}
	return r
})

func TestEventsComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(events, 0, 50).Draw(t, "events")
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		l, err := OpenEvents(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range want {
			if err := l.Add(e); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var got []Event
		if err := ReadEvents(path, func(e Event) error { got = append(got, e); return nil }); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("read %+v, wrote %+v", got, want)
		}
	})
}

func TestRepliesComeBackAsTheyWere(t *testing.T) {
	dir := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(replies, 1, 50).Draw(t, "replies")
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		l, err := CreateReplies(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range want {
			if err := l.Add(r); err != nil {
				t.Fatal(err)
			}
		}
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		var got []Reply
		if err := ReadReplies(path, func(r Reply) error { got = append(got, r); return nil }); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("read %+v, wrote %+v", got, want)
		}
	})
}

// sample is some entries of every kind.
func sampleEvents() []Event {
	return []Event{
		{At: 1000, Kind: Began, Host: "h", Incarnation: "abc", Layout: "flakeward"},
		{At: 2000, Kind: Claimed, Worker: 7, Opening: "o", Continues: true, Floor: 99},
		{At: 3000, Kind: Extended, Worker: 7, Opening: "o", Ceiling: 1 << 40},
		{At: 4000, Kind: Issued, Run: Run{First: 1 << 60, Step: 1, N: 1}},
		{At: 4500, Kind: Issued, Run: Run{First: 1<<60 + 1, Step: 8, N: 300}},
		{At: 4400, Kind: Issued, Run: Run{First: 5, Step: 1, N: 1}},
		{At: 5000, Kind: Releasing, Worker: 7, Opening: "o", Last: 12345},
		{At: 6000, Kind: Released, Worker: 7, Opening: "o", Last: 12345},
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
func written[E any](tb testing.TB, entries []E, open func(path string) (add func(E) error, done func() error)) (data []byte, starts []int) {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), "log")
	add, done := open(path)
	note := func() {
		info, err := os.Stat(path)
		must(tb, err)
		starts = append(starts, int(info.Size()))
	}
	note()
	for _, e := range entries {
		must(tb, add(e))
		note()
	}
	must(tb, done())
	data, err := os.ReadFile(path)
	must(tb, err)
	return data, starts
}

func writtenEvents(tb testing.TB, entries []Event) ([]byte, []int) {
	return written(tb, entries, func(path string) (func(Event) error, func() error) {
		l, err := OpenEvents(path)
		must(tb, err)
		return l.Add, l.Close
	})
}

func writtenReplies(tb testing.TB, entries []Reply) ([]byte, []int) {
	return written(tb, entries, func(path string) (func(Reply) error, func() error) {
		l, err := CreateReplies(path)
		must(tb, err)
		return func(r Reply) error { return errors.Join(l.Add(r), l.Flush()) }, l.Close
	})
}

func eventsOf(r io.Reader) (all []Event, err error) {
	err = readEvents(&frames{r: r, path: "log", magic: eventsMagic}, func(e Event) error { all = append(all, e); return nil })
	return all, err
}

func repliesOf(r io.Reader) (all []Reply, err error) {
	t := &Tail{in: frames{r: r, path: "log", magic: repliesMagic}}
	err = t.each(func(r Reply) error { all = append(all, r); return nil })
	return all, err
}

// testCutOff checks that a log cut off anywhere holds the entries before, and that a
// changed bit anywhere is named with its entry's place.
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
	for i := range data {
		for bit := range 8 {
			changed := bytes.Clone(data)
			changed[i] ^= 1 << bit
			got, err := read(bytes.NewReader(changed))
			var damage *DamageError
			n := before(i)
			at := int64(0)
			if i >= starts[0] {
				at = int64(starts[n])
			}
			if !errors.As(err, &damage) || damage.Offset != at || damage.Path != "log" || len(got) != n {
				t.Fatalf("bit %d of byte %d changed: %d entries and %v, want %d and damage at byte %d", bit, i, len(got), err, n, at)
			}
		}
	}
	for i := range want { // an entry that is missing
		cut := slices.Delete(bytes.Clone(data), starts[i], starts[i+1])
		got, err := read(bytes.NewReader(cut))
		if last := i == len(want)-1; last == (err != nil) || len(got) != i {
			t.Fatalf("without entry %d: %d entries and %v", i, len(got), err)
		}
	}
}

func TestEventsCutOffOrDamaged(t *testing.T) {
	data, starts := writtenEvents(t, sampleEvents())
	testCutOff(t, data, starts, sampleEvents(), eventsOf)
}

func TestRepliesCutOffOrDamaged(t *testing.T) {
	data, starts := writtenReplies(t, sampleReplies())
	testCutOff(t, data, starts, sampleReplies(), repliesOf)
}

func TestATailFollows(t *testing.T) {
	data, _ := writtenReplies(t, sampleReplies())
	path := filepath.Join(t.TempDir(), "log")
	f, err := os.Create(path)
	must(t, err)
	defer f.Close()
	tail, err := OpenTail(path)
	must(t, err)
	defer tail.Close()
	var got []Reply
	for i := range data { // a byte at a time
		_, err := f.Write(data[i : i+1])
		must(t, err)
		r, ok, err := tail.Next()
		must(t, err)
		if ok {
			got = append(got, r)
		}
	}
	if !reflect.DeepEqual(got, sampleReplies()) {
		t.Errorf("read %+v", got)
	}
}

func TestManyGoroutinesAdd(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	l, err := OpenEvents(path)
	must(t, err)
	const each = 200
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range each {
				if err := l.Add(Event{At: Now(), Kind: Issued, Run: Run{First: int64(g*each + i), Step: 1, N: 1}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	must(t, l.Close())
	seen := map[int64]bool{}
	must(t, ReadEvents(path, func(e Event) error { seen[e.Run.First] = true; return nil }))
	if len(seen) != 8*each {
		t.Errorf("%d of %d events are there", len(seen), 8*each)
	}
}

func TestWhatIsImpossibleIsNotWritten(t *testing.T) {
	dir := t.TempDir()
	l, err := OpenEvents(filepath.Join(dir, "events"))
	must(t, err)
	for _, e := range []Event{
		{},
		{Kind: Released + 1},
		{Kind: Issued},
		{Kind: Issued, Run: Run{First: 1, Step: 0, N: 1}},
		{Kind: Issued, Run: Run{First: 1 << 62, Step: 1 << 62, N: 3}},
		{Kind: Claimed, Worker: -1},
	} {
		if l.Add(e) == nil {
			t.Errorf("%+v was written", e)
		}
	}
	good := Event{At: 5, Kind: Issued, Run: Run{First: 3, Step: 1, N: 1}}
	must(t, l.Add(good))
	must(t, l.Close())
	var got []Event
	must(t, ReadEvents(filepath.Join(dir, "events"), func(e Event) error { got = append(got, e); return nil }))
	if !slices.Equal(got, []Event{good}) {
		t.Errorf("read %+v", got)
	}

	r, err := CreateReplies(filepath.Join(dir, "replies"))
	must(t, err)
	for _, bad := range []Reply{{}, {Asking: Single}, {Asking: Single, Outcome: Got, IDs: []Run{{}}}, {Asking: InRuns + 1, Outcome: Got}, {Asking: Single, Outcome: Unsent + 1}} {
		if r.Add(bad) == nil {
			t.Errorf("%+v was written", bad)
		}
	}
	must(t, r.Close())
}

// TestAWriteThatFailsIsFinal: what follows half an entry could not be read.
func TestAWriteThatFailsIsFinal(t *testing.T) {
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	must(t, err)
	l := &Events{file: full}
	first := l.Add(sampleEvents()[0])
	if !errors.Is(first, syscall.ENOSPC) {
		t.Fatalf("Add: %v", first)
	}
	must(t, full.Close())
	l.file, err = os.Create(filepath.Join(t.TempDir(), "log")) // room again
	must(t, err)
	if again := l.Add(sampleEvents()[0]); again != first {
		t.Errorf("the next Add: %v", again)
	}
	must(t, l.Close())
}

func TestALogIsNotWrittenOver(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	must(t, os.WriteFile(path, nil, 0o600))
	if _, err := OpenEvents(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("OpenEvents: %v", err)
	}
	if _, err := CreateReplies(path); !errors.Is(err, os.ErrExist) {
		t.Errorf("CreateReplies: %v", err)
	}
}

func TestAReadersErrorEndsIt(t *testing.T) {
	stop := errors.New("enough")
	data, _ := writtenEvents(t, sampleEvents())
	n := 0
	err := readEvents(&frames{r: bytes.NewReader(data), magic: eventsMagic}, func(Event) error { n++; return stop })
	if err != stop || n != 1 {
		t.Errorf("%v after %d events", err, n)
	}
}

func FuzzReadEvents(f *testing.F) {
	data, _ := writtenEvents(f, sampleEvents())
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte(eventsMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := eventsOf(bytes.NewReader(data))
		again, c := []byte(eventsMagic), eventCoding{}
		for _, e := range got { // whatever is read can be written
			frame, err := c.frame(nil, e)
			must(t, errors.Join(e.check(), err))
			again = append(again, frame...)
		}
		if back, err := eventsOf(bytes.NewReader(again)); err != nil || !slices.Equal(back, got) {
			t.Fatalf("%+v came back as %+v, %v", got, back, err)
		}
	})
}

// FuzzEvent has no checksum in its way.
func FuzzEvent(f *testing.F) {
	for _, e := range sampleEvents() {
		var c eventCoding
		f.Add(c.append(nil, e))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c eventCoding
		e, ok := c.read(data)
		if !ok {
			return
		}
		c = eventCoding{}
		b := c.append(nil, e)
		c = eventCoding{}
		if again, ok := c.read(b); !ok || again != e {
			t.Fatalf("%+v came back as %+v, %v", e, again, ok)
		}
	})
}

func FuzzReadReplies(f *testing.F) {
	data, _ := writtenReplies(f, sampleReplies())
	f.Add(data)
	f.Add(data[:len(data)-3])
	f.Add([]byte(repliesMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, _ := repliesOf(bytes.NewReader(data))
		again, c := []byte(repliesMagic), replyCoding{}
		for _, r := range got {
			frame, err := c.frame(nil, r)
			must(t, errors.Join(r.check(), err))
			again = append(again, frame...)
		}
		if back, err := repliesOf(bytes.NewReader(again)); err != nil || !reflect.DeepEqual(back, got) {
			t.Fatalf("%+v came back as %+v, %v", got, back, err)
		}
	})
}

func FuzzReply(f *testing.F) {
	for _, r := range sampleReplies() {
		var c replyCoding
		f.Add(c.append(nil, r))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var c replyCoding
		r, ok := c.read(data)
		if !ok {
			return
		}
		c = replyCoding{}
		b := c.append(nil, r)
		c = replyCoding{}
		if again, ok := c.read(b); !ok || !reflect.DeepEqual(again, r) {
			t.Fatalf("%+v came back as %+v, %v", r, again, ok)
		}
	})
}

func TestAddingIssuedAllocatesNothing(t *testing.T) {
	l, err := OpenEvents(filepath.Join(t.TempDir(), "log"))
	must(t, err)
	defer l.Close()
	e := Event{Kind: Issued, Run: Run{First: 1 << 60, Step: 1, N: 1}}
	must(t, l.Add(e)) // the first one makes the buffer
	if n := testing.AllocsPerRun(100, func() {
		e.At = Now()
		e.Run.First++
		if l.Add(e) != nil {
			t.Fatal("Add failed")
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAdd(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log")
	l, err := OpenEvents(path)
	must(b, err)
	e := Event{Kind: Issued, Run: Run{First: 1 << 60, Step: 1, N: 1}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		e.At = Now()
		e.Run.First++
		must(b, l.Add(e))
		n++
	}
	info, err := os.Stat(path)
	must(b, err)
	b.ReportMetric(float64(info.Size())/float64(n), "bytes/event")
	must(b, l.Close())
}

func BenchmarkReadReplies(b *testing.B) {
	path := filepath.Join(b.TempDir(), "log")
	l, err := CreateReplies(path)
	must(b, err)
	const n = 100000
	r := Reply{Connection: 1, Asking: Single, Asked: 1e15, Answered: 1e15 + 20e3, Outcome: Got, IDs: []Run{{First: 1 << 60, Step: 1, N: 1}}}
	for range n {
		r.Asked += 21e3
		r.Answered += 21e3
		r.IDs[0].First++
		must(b, l.Add(r))
	}
	must(b, l.Close())
	b.ReportAllocs()
	for b.Loop() {
		must(b, ReadReplies(path, func(Reply) error { return nil }))
	}
	b.ReportMetric(float64(b.N*n)/b.Elapsed().Seconds(), "replies/s")
}
