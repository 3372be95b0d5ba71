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
	held           map[[2]int]generator.Tick // by tenant and slot
	used           map[string]int            // by tenant and tick
	rolls          bool
	last           map[uint32]generator.Tick // by tenant: the highest that it has taken from
	highest        generator.Tick
	ids            map[int64]bool

	most    int                       // tenants besides 0 that it remembers
	rings   map[uint32]bool           // those that it does
	made    map[uint32]generator.Tick // when it began to
	hand    uint32                    // the one that was looked at last for one to forget
	retired generator.Tick            // the highest of those forgotten; -1 before
}

// admits finds room for the tenant at the tick, if need be in the place of one that is idle.
func (m *model) admits(tenant uint32, tick generator.Tick) bool {
	if m.rings[tenant] {
		return true
	}
	tenants := uint32(m.layout.Max(generator.Tenant))
	for looked := uint32(0); tenant != 0 && m.remembered() == m.most; looked++ {
		if looked == tenants {
			return false
		}
		m.hand = m.hand%tenants + 1
		if m.rings[m.hand] && max(m.made[m.hand], m.last[m.hand])+generator.Tick(m.span) <= tick {
			delete(m.rings, m.hand)
			m.retired = max(m.retired, m.last[m.hand])
		}
	}
	m.rings[tenant] = true
	m.made[tenant], m.last[tenant] = tick, 0
	for slot := range m.span {
		delete(m.held, [2]int{int(tenant), slot})
	}
	for past := max(0, m.retired-generator.Tick(m.span)+1); past <= m.retired; past++ {
		m.held[[2]int{int(tenant), int(past) % m.span}] = past
		m.used[key(tenant, past)] = m.capacity
	}
	return true
}

// remembered is how many tenants besides 0 are.
func (m *model) remembered() (n int) {
	for tenant := range m.rings {
		if tenant != 0 {
			n++
		}
	}
	return n
}

func key(tenant uint32, tick generator.Tick) string { return fmt.Sprint(tenant, "/", tick) }

func (m *model) take(tenant uint32, tick generator.Tick, n int) (int, generator.Outcome) {
	slot := [2]int{int(tenant), int(tick) % m.span}
	switch {
	case m.closed:
		return 0, generator.Closed
	case tick > m.ceiling:
		return 0, generator.AboveCeiling
	case tick <= m.floor:
		return 0, generator.BelowFloor
	case uint64(tenant) > m.layout.Max(generator.Tenant):
		return 0, generator.BadTenant
	case !m.admits(tenant, tick):
		return 0, generator.TooManyTenants
	case m.held[slot] > tick:
		return 0, generator.Passed
	case m.next(tenant, tick) == m.capacity:
		return 0, generator.Full
	}
	next := m.next(tenant, tick)
	n = min(n, m.capacity-next)
	m.held[slot] = tick
	m.used[key(tenant, tick)] = next + n
	m.last[tenant] = max(m.last[tenant], tick)
	m.highest = max(m.highest, tick)
	return n, generator.Issued
}

// next is the number that the tick gives next, if it has any.
func (m *model) next(tenant uint32, tick generator.Tick) int {
	next, begun := m.used[key(tenant, tick)]
	if begun || !m.rolls || tick < m.highest || tick < m.last[tenant] {
		return next
	}
	stopped, quarter := m.used[key(tenant, m.last[tenant])], m.capacity/4
	switch {
	case stopped <= m.capacity-quarter:
		return stopped % quarter
	case stopped <= m.capacity-quarter/2:
		return stopped % (quarter / 2)
	}
	return 0
}

func (m *model) nextRoom(tenant uint32, from, to generator.Tick) (generator.Tick, bool) {
	if m.closed || uint64(tenant) > m.layout.Max(generator.Tenant) {
		return 0, false
	}
	if !m.rings[tenant] {
		from = max(from, m.floor+1, m.retired+1)
		return from, from <= min(to, m.ceiling)
	}
	for tick := max(from, m.floor+1); tick <= min(to, m.ceiling); tick++ {
		if m.held[[2]int{int(tenant), int(tick) % m.span}] <= tick && m.used[key(tenant, tick)] < m.capacity {
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
			held:  make(map[[2]int]generator.Tick), used: make(map[string]int), ids: make(map[int64]bool), last: make(map[uint32]generator.Tick),
			rings: make(map[uint32]bool), made: make(map[uint32]generator.Tick), retired: -1, most: int(l.Max(generator.Tenant)),
		}
		m.ceiling, m.highest, m.limit = m.floor, m.floor, l.MaxTick()
		ln := must.Get(generator.NewLane(l, 0, int(m.worker), m.floor))(t)
		m.span = ln.Span()
		if bound := rapid.IntRange(0, 3).Draw(t, "bound"); bound < m.most {
			ln.BoundTenants(bound)
			m.most = bound
		}
		if rapid.Bool().Draw(t, "roll") {
			ln.Roll()
			m.rolls = l.Step() == 1 && seqBits >= 3
		}
		t.Repeat(map[string]func(*rapid.T){
			"take": func(t *rapid.T) {
				tenant, tick, n := tenant.Draw(t, "tenant"), tick.Draw(t, "at"), rapid.IntRange(1, 20).Draw(t, "n")
				wantN, want := m.take(tenant, tick, n)
				used := m.next(tenant, tick) - wantN
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
				ln.Limit(to)
			},
			"room": func(t *rapid.T) {
				tenant, from, to := tenant.Draw(t, "tenant"), tick.Draw(t, "from"), tick.Draw(t, "to")
				want, wantOK := m.nextRoom(tenant, from, to)
				if got, ok := ln.NextRoom(tenant, from, to); ok != wantOK || ok && got != want {
					t.Fatalf("NextRoom(%d, %d, %d) = %d, %v; want %d, %v", tenant, from, to, got, ok, want, wantOK)
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
		if room, ok := ln.NextRoom(0, start, start+ticks-1); !ok || room >= start+ticks {
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
		if room, ok := ln.NextRoom(0, start, start+ticks-1); ok {
			t.Fatalf("seed %d: there is still room at tick %d", seed, room)
		}
	}
}

// TestRingForgetsWhatItPassed: once a slot holds a later tick, the earlier one
// is never issued again, whatever was left of it.
func TestRingForgetsWhatItPassed(t *testing.T) {
	_, ln := openLane(t, "flakeward", 0)
	span := generator.Tick(ln.Span())
	const start = 10_000
	for tick := generator.Tick(start); tick < start+span; tick++ {
		if _, outcome := ln.Take(0, tick, 1); outcome != generator.Issued {
			t.Fatalf("tick %d: %s", tick, outcome)
		}
	}
	for tick := generator.Tick(start); tick < start+span; tick++ {
		if _, outcome := ln.Take(0, tick, 1); outcome != generator.Issued {
			t.Fatalf("tick %d, still remembered: %s", tick, outcome)
		}
		if _, outcome := ln.Take(0, tick+span, 1); outcome != generator.Issued {
			t.Fatalf("tick %d, a turn later: %s", tick+span, outcome)
		}
		for _, turns := range []generator.Tick{0, 1, 2, 4} {
			if run, outcome := ln.Take(0, tick-turns*span, 1); outcome != generator.Passed || run.N != 0 {
				t.Fatalf("tick %d, passed over: %d IDs, %s", tick-turns*span, run.N, outcome)
			}
		}
	}
}
