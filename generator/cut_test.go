package generator

import (
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

func cutLane(t *testing.T) *Lane {
	t.Helper()
	l := must.Get(ParseLayout("time=41@1ms,worker=4,sequence=18;epoch=2026-01-01"))(t)
	return must.Get(NewLane(l, 0, 3, 100))(t)
}

func TestCutIsForGood(t *testing.T) {
	for _, test := range []struct {
		name           string
		raised         Tick // before
		cuts           []Tick
		again          Tick // raised after
		before, after  Tick // the ceiling before and after that
		issues, misses Tick
	}{
		{"below the ceiling", 500, []Tick{300}, 900, 300, 300, 300, 301},
		{"above the ceiling: it may rise up to there", 200, []Tick{300}, 900, 200, 300, 300, 301},
		{"the lowest counts", 500, []Tick{300, 400, 250, 500}, 900, 250, 250, 250, 251},
		{"the ceiling itself", 500, []Tick{500}, 900, 500, 500, 500, 501},
		{"one below the ceiling", 500, []Tick{499}, 900, 499, 499, 499, 500},
		{"the floor: nothing is issued", 500, []Tick{100}, 900, 100, 100, 0, 101},
		{"below the floor", 500, []Tick{7}, 900, 100, 100, 0, 101},
		{"beyond the end of time", 500, []Tick{1 << 60}, 900, 500, 900, 900, 901},
	} {
		ln := cutLane(t)
		ln.Raise(test.raised)
		for _, to := range test.cuts {
			ln.Cut(to)
		}
		if got := ln.Ceiling(); got != test.before {
			t.Errorf("%s: cut at %v the ceiling is %d, want %d", test.name, test.cuts, got, test.before)
		}
		if !ln.Raise(test.again) || ln.Ceiling() != test.after {
			t.Errorf("%s: raised to %d the ceiling is %d, want %d", test.name, test.again, ln.Ceiling(), test.after)
		}
		if _, out := ln.Take(0, test.issues, 1); test.issues != 0 && out != Issued {
			t.Errorf("%s: tick %d: %v", test.name, test.issues, out)
		}
		if run, out := ln.Take(0, test.misses, 1); out != AboveCeiling || run.N != 0 {
			t.Errorf("%s: tick %d: %d IDs, %v", test.name, test.misses, run.N, out)
		}
		if last := ln.Close().Or(-1); last != test.issues {
			t.Errorf("%s: closed at %d, want %d", test.name, last, test.issues)
		}
		if ln.Cut(200); !ln.Closed() || ln.Raise(900) {
			t.Errorf("%s: a cut has opened the lane again", test.name)
		}
	}
}

// TestCutAmongRaises: whoever begins to take after a cut gets nothing above it,
// however many raise the lane meanwhile.
func TestCutAmongRaises(t *testing.T) {
	const rounds, limit, far = 400, 1000, 5000
	for range rounds {
		ln := cutLane(t)
		ln.Raise(far)
		var limited, done atomic.Bool
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				for to := Tick(far); !done.Load(); to++ {
					ln.Raise(to)
				}
			})
			wg.Go(func() {
				for at := Tick(limit + 1); !done.Load(); at++ {
					late := limited.Load()
					if run, out := ln.Take(0, at, 1); late && (out == Issued || run.N > 0) {
						t.Errorf("tick %d was issued after the limit was set to %d", at, limit)
						return
					}
					if at == far {
						at = limit
					}
				}
			})
		}
		ln.Cut(limit)
		limited.Store(true)
		for at := Tick(limit + 1); at < limit+200; at++ {
			if _, out := ln.Take(0, at, 1); out != AboveCeiling {
				t.Errorf("tick %d after the limit %d: %v", at, limit, out)
			}
		}
		done.Store(true)
		wg.Wait()
		if t.Failed() {
			return
		}
	}
}

// TestCutIsLookedAtAgain: a number above the limit that was not in its slot when Cut
// returned is thrown away, though its Take began before.
func TestCutIsLookedAtAgain(t *testing.T) {
	const rounds, enough, at, takers = 3000, 5, 2000, 3
	thrown := 0
	for round := 0; round < rounds && thrown < enough; round++ {
		ln := cutLane(t)
		ln.Raise(5000)
		var given atomic.Int64
		var begun, wg sync.WaitGroup
		begun.Add(takers)
		for range takers {
			wg.Go(func() {
				begun.Done()
				for {
					run, out := ln.Take(0, at, 1)
					if out != Issued {
						return
					}
					given.Add(int64(run.N))
				}
			})
		}
		begun.Wait()
		ln.Cut(at - 1)
		taken := func() int64 {
			return int64(ln.ring.slots[uint64(at)&ln.mask].Load() & ln.usedMask)
		}
		before := taken()
		wg.Wait()
		if got := given.Load(); got > before {
			t.Fatalf("%d numbers were given above the limit, and %d had been taken when it was set", got, before)
		}
		if taken() > given.Load() {
			thrown++
		}
	}
	if thrown == 0 {
		t.Error("no number was ever thrown away: nothing was looked at again")
	}
}

// Not promised: a copy of a process's memory has a lane that has given the same, and gives the same
// from then on, unless the machine's generation tells them apart.
func TestNotPromisedCopiesOfARunningProcess(t *testing.T) {
	var next [2]Run
	for i := range next {
		ln := cutLane(t)
		ln.Raise(5000)
		ln.Take(0, 200, 3)
		next[i], _ = ln.Take(0, 200, 1)
	}
	if next[0].N != 1 || next[0] != next[1] {
		t.Errorf("they give %+v: the documentation says that they may be the same", next)
	}
}
