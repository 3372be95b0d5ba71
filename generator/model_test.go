package generator_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// model is the simplest lane that obeys the rules: it remembers each number that it gave.
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

// takeFirst is take at the first tick that has room. It begins ticks at number 0.
func (m *model) takeFirst(tenant uint32, from, to generator.Tick, n int) (int, generator.Tick, generator.Outcome) {
	defer m.straight()()
	for tick := max(from, m.floor+1, to-generator.Tick(m.span)+1); tick <= to; tick++ {
		if got, outcome := m.take(tenant, tick, n); outcome != generator.Full && outcome != generator.Passed {
			return got, tick, outcome
		}
	}
	return 0, 0, generator.Full
}

// straight has ticks begin at number 0 until what it returns is called.
func (m *model) straight() (until func()) {
	rolls := m.rolls
	m.rolls = false
	return func() { m.rolls = rolls }
}

func (m *model) room(tick generator.Tick) int {
	if m.closed || tick <= m.floor || tick > m.ceiling || m.held[int(tick)%m.span] > tick {
		return 0
	}
	return m.capacity - m.next(tick)
}

func (m *model) roomFirst(from, to generator.Tick) (all int, first generator.Tick) {
	defer m.straight()()
	for tick := max(from, m.floor+1, to-generator.Tick(m.span)+1); tick <= to; tick++ {
		if all == 0 {
			first = tick
		}
		all += m.room(tick)
	}
	return all, first
}

func (m *model) nextRoom(from, to generator.Tick) (generator.Tick, bool) {
	for tick := from; tick <= min(to, m.ceiling); tick++ {
		if m.room(tick) > 0 {
			return tick, true
		}
	}
	return 0, false
}

// TestPropertyLaneIsItsModel drives a lane and its model with the same random calls. The model's
// own rules are the invariants: slots only rise, nothing outside (floor, ceiling], no ID twice.
func TestPropertyLaneIsItsModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		seqBits := rapid.IntRange(1, 5).Draw(t, "sequence")
		fields := []string{"time=8@" + rapid.SampledFrom([]string{"1s", "500ms", "300ms", "100ms"}).Draw(t, "tick"), "worker=2", fmt.Sprintf("sequence=%d", seqBits)}
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
		issued := func(t *rapid.T, tenant uint32, tick generator.Tick, run generator.Run) {
			for i := range run.N {
				id := run.First + int64(i)*l.Step()
				sequence := uint64(m.used[tick] - run.N + i)
				want, err := l.Compose(generator.Parts{Tick: tick, Worker: m.worker, Tenant: uint64(tenant), Sequence: sequence})
				if err != nil || id != want || m.ids[id] {
					t.Fatalf("of tick %d, tenant %d: [%d] is %d, want %d (%v); issued before: %v", tick, tenant, i, id, want, err, m.ids[id])
				}
				m.ids[id] = true
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				tenant, tick, n := tenant.Draw(t, "tenant"), tick.Draw(t, "at"), rapid.IntRange(1, 20).Draw(t, "n")
				wantN, want := m.take(tenant, tick, n)
				run, outcome := ln.Take(tenant, tick, n)
				if outcome != want || run.N != wantN {
					t.Fatalf("Take(%d, %d, %d) = %d, %s; want %d, %s", tenant, tick, n, run.N, outcome, wantN, want)
				}
				issued(t, tenant, tick, run)
			},
			"take first": func(t *rapid.T) {
				tenant, from, n := tenant.Draw(t, "tenant"), tick.Draw(t, "from"), rapid.IntRange(1, 20).Draw(t, "n")
				to := from + generator.Tick(rapid.IntRange(-1, 40).Draw(t, "ticks"))
				wantN, wantTick, want := m.takeFirst(tenant, from, to, n)
				run, tick, outcome := ln.TakeFirst(tenant, from, to, n)
				if run.N != wantN || (outcome == generator.Issued) != (want == generator.Issued) || wantN > 0 && tick != wantTick {
					t.Fatalf("TakeFirst(%d, %d, %d, %d) = %d of %d, %s; want %d of %d, %s", tenant, from, to, n, run.N, tick, outcome, wantN, wantTick, want)
				}
				issued(t, tenant, tick, run)
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
				if got, want := ln.Room(to), m.room(to); got != want {
					t.Fatalf("Room(%d) = %d, want %d", to, got, want)
				}
				all, first := m.roomFirst(from, to)
				if n, at := ln.RoomFirst(from, to); n != all || n > 0 && at != first {
					t.Fatalf("RoomFirst(%d, %d) = %d from %d on, want %d from %d on", from, to, n, at, all, first)
				}
			},
			"close": func(t *rapid.T) {
				// Mostly not, or all else would be tried on closed lanes.
				if rapid.IntRange(0, 19).Draw(t, "really") != 7 {
					return
				}
				m.closed, m.ceiling = true, m.floor
				want := m.highest
				if want == m.floor {
					want = 0 // nothing was issued
				}
				if got := ln.Close().Or(-1); got != want {
					t.Fatalf("Close() = %d, want %d", got, want)
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
