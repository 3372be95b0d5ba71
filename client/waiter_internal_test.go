package client

import (
	"slices"
	"testing"
	"time"
)

// A call that waits so long that what it had from stock grows too old, and then again, loses just
// that: what was drawn while it waited stays, and as many IDs are missing as were lost.
func TestWhatGrowsTooOldTwiceIsAllThatIsLost(t *testing.T) {
	const want = 100
	c := &Client{}
	callers := []Run{{First: 1, N: 1, Step: 1}}
	w := c.newWaiter(callers, want)
	gather := func(first, n int64, own bool) {
		w.add(&run{n: n, first: first, step: 1, at: time.Now()}, 0, n, own)
	}
	gather(1000, 10, false)
	gather(2000, 20, true)
	if !w.drop(0) {
		t.Fatal("nothing was too old")
	}
	gather(3000, 5, false)
	gather(3100, 6, false)
	gather(4000, 7, true)
	if !w.drop(0) || w.drop(0) {
		t.Fatal("what was too old did not go at once")
	}
	kept := []Run{callers[0], {First: 2000, N: 20, Step: 1}, {First: 4000, N: 7, Step: 1}}
	if !slices.Equal(w.runs, kept) || w.need != want-27 {
		t.Errorf("%v were kept and %d are missing, want %v and %d", w.runs, w.need, kept, want-27)
	}
}
