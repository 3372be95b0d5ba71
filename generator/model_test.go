package generator_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// model is the simplest lane that obeys the rules: it remembers each number
// that it gave.
type model struct {
	layout         *generator.Layout
	span, capacity int
	worker         uint64
	floor, ceiling generator.Tick
	limit          generator.Tick
	closed         bool
	held           map[int]generator.Tick // by slot
	used           map[generator.Tick]int
	rolls          bool
	highest        generator.Tick
	ids            map[int64]bool
}

func (m *model) take(tenant uint32, tick generator.Tick, n int) (int, generator.Outcome) {
	slot := int(tick) % m.span
	switch {
	case m.closed:
		return 0, generator.Closed
	case tick > m.ceiling:
		return 0, generator.AboveCeiling
	case tick <= m.floor:
		return 0, generator.BelowFloor
	case uint64(tenant) > m.layout.Max(generator.Tenant):
		return 0, generator.BadTenant
	case m.held[slot] > tick:
		return 0, generator.Passed
	case m.next(tick) == m.capacity:
		return 0, generator.Full
	}
	next := m.next(tick)
	n = min(n, m.capacity-next)
	m.held[slot] = tick
	m.used[tick] = next + n
	m.highest = max(m.highest, tick)
	return n, generator.Issued
}

// next is the number that the tick gives next, if it has any.
func (m *model) next(tick generator.Tick) int {
	next, begun := m.used[tick]
	if begun || !m.rolls || tick < m.highest {
		return next
	}
	stopped, quarter := m.used[m.highest], m.capacity/4
	switch {
	case stopped <= m.capacity-quarter:
		return stopped % quarter
	case stopped <= m.capacity-quarter/2:
		return stopped % (quarter / 2)
	}
	return 0
}

func (m *model) nextRoom(from, to generator.Tick) (generator.Tick, bool) {
	if m.closed {
		return 0, false
	}
	for tick := max(from, m.floor+1); tick <= min(to, m.ceiling); tick++ {
		if m.held[int(tick)%m.span] <= tick && m.used[tick] < m.capacity {
			return tick, true
		}
	}
	return 0, false
}

// TestPropertyLaneIsItsModel drives a lane and its model with the same random
// calls. The model's own rules are the invariants: slots only rise, nothing
// outside (floor, ceiling], no ID twice.
func TestPropertyLaneIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seqBits := rapid.IntRange(1, 5).Draw(t, "sequence")
		fields := []string{"time=8@" + rapid.SampledFrom([]string{"1s", "500ms", "300ms"}).Draw(t, "tick"), "worker=2", fmt.Sprintf("sequence=%d", seqBits)}
		if rapid.Bool().Draw(t, "tenants") {
			fields = append(fields, "tenant=2")
		}
		text := ""
		for _, f := range rapid.Permutation(fields).Draw(t, "order") {
			text += "," + f
		}
		l := must.Get(generator.ParseLayout(text[1:] + ";epoch=2026-01-01"))(t)
		tick := rapid.Custom(func(t *rapid.T) generator.Tick {
			return generator.Tick(rapid.OneOf(rapid.Int64Range(-2, 40), rapid.Int64Range(250, 258)).Draw(t, "t"))
		})
		tenant := rapid.Uint32Range(0, 4)
		m := &model{
			layout: l, capacity: 1 << seqBits, worker: 3,
			floor: generator.Tick(rapid.Int64Range(0, 5).Draw(t, "floor")),
			held:  make(map[int]generator.Tick), used: make(map[generator.Tick]int), ids: make(map[int64]bool),
		}
		m.ceiling, m.highest, m.limit = m.floor, m.floor, l.MaxTick()
		ln := must.Get(generator.NewLane(l, 0, int(m.worker), m.floor))(t)
		m.span = ln.Span()
		if rapid.Bool().Draw(t, "roll") {
			ln.Roll()
			m.rolls = l.Step() == 1 && seqBits >= 3
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				tenant, tick, n := tenant.Draw(t, "tenant"), tick.Draw(t, "at"), rapid.IntRange(1, 20).Draw(t, "n")
				wantN, want := m.take(tenant, tick, n)
				used := m.next(tick) - wantN
				run, outcome := ln.Take(tenant, tick, n)
				if outcome != want || run.N != wantN {
					t.Fatalf("Take(%d, %d, %d) = %d, %s; want %d, %s", tenant, tick, n, run.N, outcome, wantN, want)
				}
				for i := range run.N {
					id := run.First + int64(i)*l.Step()
					want, err := l.Compose(generator.Parts{Tick: tick, Worker: m.worker, Tenant: uint64(tenant), Sequence: uint64(used + i)})
					if err != nil || id != want || m.ids[id] {
						t.Fatalf("Take(%d, %d, %d)[%d] = %d, want %d (%v); issued before: %v", tenant, tick, n, i, id, want, err, m.ids[id])
					}
					m.ids[id] = true
				}
			},
			"raise": func(t *rapid.T) {
				ceiling := tick.Draw(t, "ceiling")
				if !m.closed {
					m.ceiling = max(m.ceiling, min(ceiling, m.limit))
				}
				if got := ln.Raise(ceiling); got == m.closed {
					t.Fatalf("Raise(%d) = %v", ceiling, got)
				}
			},
			"limit": func(t *rapid.T) {
				// Mostly not, or all else would be tried at the floor.
				if rapid.IntRange(0, 9).Draw(t, "really") != 7 {
					return
				}
				to := tick.Draw(t, "limit")
				m.limit = min(m.limit, max(to, m.floor))
				m.ceiling = min(m.ceiling, m.limit)
				ln.Cut(to)
			},
			"room": func(t *rapid.T) {
				from, to := tick.Draw(t, "from"), tick.Draw(t, "to")
				want, wantOK := m.nextRoom(from, to)
				if got, ok := ln.NextRoom(from, to); ok != wantOK || ok && got != want {
					t.Fatalf("NextRoom(%d, %d) = %d, %v; want %d, %v", from, to, got, ok, want, wantOK)
				}
			},
			"close": func(t *rapid.T) {
				// Mostly not, or all else would be tried on closed lanes.
				if rapid.IntRange(0, 19).Draw(t, "really") != 7 {
					return
				}
				m.closed, m.ceiling = true, m.floor
				if got := ln.Close(); got != m.highest {
					t.Fatalf("Close() = %d, want %d", got, m.highest)
				}
			},
			"": func(t *rapid.T) {
				if ln.Highest() != m.highest || ln.Floor() != m.floor || ln.Ceiling() != m.ceiling || ln.Closed() != m.closed {
					t.Fatalf("highest %d, floor %d, ceiling %d, closed %v; want %d, %d, %d, %v",
						ln.Highest(), ln.Floor(), ln.Ceiling(), ln.Closed(), m.highest, m.floor, m.ceiling, m.closed)
				}
			},
		})
	})
}

// TestRingGivesExactlyWhatWasLeft uses 200 ticks at random amounts, sets the
// clock back 200 ticks and lets it run on: each sequence number that was not
// used is there, once, and no other.
func TestRingGivesExactlyWhatWasLeft(t *testing.T) {
	const ticks, capacity, start = 200, 4096, 5_000_000
	for seed := range uint64(20) {
		l, ln := openLane(t, "flakeward", 0)
		random := rand.New(rand.NewPCG(seed, 1))
		var issued [ticks * capacity]bool
		take := func(tick generator.Tick, n int) int {
			run, outcome := ln.Take(0, tick, n)
			if (outcome == generator.Issued) != (run.N > 0) {
				t.Fatalf("seed %d: tick %d: %d IDs, %s", seed, tick, run.N, outcome)
			}
			for i := range run.N {
				parts, err := l.Decompose(run.First + int64(i)*l.Step())
				if err != nil || parts.Tick != tick {
					t.Fatalf("seed %d: tick %d gives %+v, %v", seed, tick, parts, err)
				}
				at := int(tick-start)*capacity + int(parts.Sequence)
				if issued[at] {
					t.Fatalf("seed %d: tick %d, sequence %d issued twice", seed, tick, parts.Sequence)
				}
				issued[at] = true
			}
			return run.N
		}
		before, after := 0, 0
		for tick := range generator.Tick(ticks) {
			for amount := random.IntN(capacity + 1); amount > 0; {
				got := take(start+tick, min(amount, 1+random.IntN(300)))
				amount -= got
				before += got
			}
		}
		if room, ok := ln.NextRoom(start, start+ticks-1); !ok || room >= start+ticks {
			t.Fatalf("seed %d: NextRoom = %d, %v", seed, room, ok)
		}
		for tick := range generator.Tick(ticks) {
			for got := -1; got != 0; {
				got = take(start+tick, 1+random.IntN(300))
				after += max(got, 0)
			}
		}
		if after != ticks*capacity-before {
			t.Fatalf("seed %d: %d issued before the clock went back, %d after, together not %d", seed, before, after, ticks*capacity)
		}
		if room, ok := ln.NextRoom(start, start+ticks-1); ok {
			t.Fatalf("seed %d: there is still room at tick %d", seed, room)
		}
	}
}
