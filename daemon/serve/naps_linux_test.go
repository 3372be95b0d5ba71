package serve

import "testing"

// crowd has n different connections seen in each round, of total ones taking turns, for two whole epochs.
func crowd(s *naps, total, n int) {
	seen := make([]uint32, total)
	for i := range seen {
		seen[i] = s.epoch - 1
	}
	next := 0
	for range 2*napRounds + 1 {
		s.round()
		for range n {
			s.saw(&seen[next%total])
			next++
		}
	}
}

// A nap is for crowds: neither for few connections, however busy, nor for many that ask one at a time.
func TestNapsAreForCrowds(t *testing.T) {
	for _, c := range []struct {
		total, inRound int
		active         int
		due            bool
	}{
		{1, 1, 1, false},
		{8, 8, 8, false},
		{napCrowd - 1, 10, napCrowd - 1, false},
		{napCrowd, 10, napCrowd, true},
		{50, 5, 50, true},
		{50, 1, napRounds, false},
		{10000, 1, napRounds, false},
		{10000, 2, 2 * napRounds, true},
		{10000, 256, 256 * napRounds, true},
	} {
		var s naps
		crowd(&s, c.total, c.inRound)
		if s.active != c.active || s.due() != c.due {
			t.Errorf("%d connections, %d in a round: %d active, due %t; want %d, %t", c.total, c.inRound, s.active, s.due(), c.active, c.due)
		}
	}
}

// A nap pays if it brings several requests while most clients are still busy. Otherwise the next ones are left out, and then it is tried again.
func TestNapsThatDoNotPayAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		n    int
		pays bool
	}{
		{0, false}, {1, false}, {napWorth - 1, false}, {napWorth, true}, {25, true}, {26, false}, {50, false},
	} {
		var s naps
		crowd(&s, 50, 5)
		s.rested(c.n)
		skipped := 0
		for !s.due() {
			skipped++
		}
		if want := map[bool]int{true: 0, false: napsSkipped}[c.pays]; skipped != want {
			t.Errorf("a nap that brought %d of 50: %d left out, want %d", c.n, skipped, want)
		}
	}
}

// A crowd that has gone is forgotten within two epochs.
func TestNapsEndWithTheCrowd(t *testing.T) {
	var s naps
	crowd(&s, 50, 5)
	for range 2 * napRounds {
		s.round()
	}
	if s.due() {
		t.Errorf("a nap is due with %d active", s.active)
	}
}
