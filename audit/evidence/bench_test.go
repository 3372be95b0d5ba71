package evidence

import (
	"os"
	"path/filepath"
	"testing"
)

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
