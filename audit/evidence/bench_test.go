package evidence

import (
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
