package generator

import "testing"

// The row of ticks that are used up grows at both ends, gives way to a later one, and is read as it
// was written wherever its ticks lie.
func TestSpent(t *testing.T) {
	const size = 2048
	for _, at := range []Tick{0, 1000, 1<<lastBits - 5, 1<<lastBits + 3, 1 << 60} {
		var s exhausted
		look := func(what string, tick, want Tick) {
			t.Helper()
			if got := s.after(at + tick); got != at+want {
				t.Errorf("from %d, %s: after %d comes %d, want %d", at, what, tick, got-at, want)
			}
		}
		look("nothing is noted", 10, 10)
		s.add(at+10, at+9, size)
		look("an empty row was noted", 10, 10)
		s.add(at+10, at+20, size)
		look("below the row", 9, 9)
		look("at its first", 10, 21)
		look("at its last", 20, 21)
		look("above", 21, 21)
		s.add(at+21, at+25, size)
		s.add(at+5, at+9, size)
		look("grown", 5, 26)
		s.add(at+7, at+30, size)
		look("grown by a row that laps over", 5, 31)
		s.add(at+40, at+50, size)
		look("a later row is kept instead", 5, 5)
		look("a later row is kept instead", 40, 51)
		s.add(at+20, at+30, size)
		look("an earlier one is not", 20, 20)
		look("an earlier one is not", 40, 51)
		s.add(at+51, at+40+size, size)
		look("of a long row the ring's length is kept", 40, 40)
		look("of a long row the ring's length is kept", 41, 41+size)
	}
}
