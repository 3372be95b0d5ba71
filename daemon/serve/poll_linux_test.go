package serve

import "testing"

// crowd has n different connections seen in each round, of total ones taking turns, for two whole
// epochs.
func crowd(s *batching, total, n int) {
	seen := make([]uint32, total)
	for i := range seen {
		seen[i] = s.epoch - 1
	}
	next := 0
	for range 2*batchRounds + 1 {
		s.round()
		for range n {
			s.saw(&seen[next%total])
			next++
		}
	}
}

// A batching sleep is for crowds: neither for few connections, however busy, nor for many that ask
// one at a time.
func TestBatchingSleepsAreForCrowds(t *testing.T) {
	for _, c := range []struct {
		total, inRound int
		active         int
		due            bool
	}{
		{1, 1, 1, false},
		{8, 8, 8, false},
		{batchActive - 1, 10, batchActive - 1, false},
		{batchActive, 10, batchActive, true},
		{50, 5, 50, true},
		{50, 1, batchRounds, false},
		{10000, 1, batchRounds, false},
		{10000, 2, 2 * batchRounds, true},
		{10000, 256, 256 * batchRounds, true},
	} {
		var s batching
		crowd(&s, c.total, c.inRound)
		if s.active != c.active || s.due() != c.due {
			t.Errorf("%d connections, %d in a round: %d active, due %t; want %d, %t", c.total, c.inRound, s.active, s.due(), c.active, c.due)
		}
	}
}

// A batching sleep pays if it brings several requests while most clients are still busy. Otherwise
// the next ones are left out, and then it is tried again.
func TestBatchingSleepsThatDoNotPayAreLeftOut(t *testing.T) {
	for _, c := range []struct {
		n    int
		pays bool
	}{
		{0, false}, {1, false}, {batchWorth - 1, false}, {batchWorth, true}, {25, true}, {26, false}, {50, false},
	} {
		var s batching
		crowd(&s, 50, 5)
		s.slept(c.n)
		skipped := 0
		for !s.due() {
			skipped++
		}
		if want := map[bool]int{true: 0, false: batchesSkipped}[c.pays]; skipped != want {
			t.Errorf("a sleep that brought %d of 50: %d left out, want %d", c.n, skipped, want)
		}
	}
}

// A crowd that has gone is forgotten within two epochs.
func TestBatchingSleepsEndWithTheCrowd(t *testing.T) {
	var s batching
	crowd(&s, 50, 5)
	for range 2 * batchRounds {
		s.round()
	}
	if s.due() {
		t.Errorf("a sleep is due with %d active", s.active)
	}
}
