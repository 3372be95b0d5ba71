package generator_test

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

func TestANewTenantTakesThePlaceOfOneThatIsIdle(t *testing.T) {
	_, lane := openLane(t, tenantsLayout, 0)
	lane.BoundTenants(2)
	span := generator.Tick(lane.Span())
	take := func(tenant uint32, at generator.Tick, want generator.Outcome) {
		t.Helper()
		if _, out := lane.Take(tenant, at, 1); out != want {
			t.Errorf("tenant %d at tick %d: %s, want %s", tenant, at, out, want)
		}
	}
	take(7, 10, generator.Issued)
	take(8, 20, generator.Issued)
	take(9, 10+span-1, generator.TooManyTenants)
	if lane.Admits(9, 10+span-1) || !lane.Admits(9, 10+span) {
		t.Error("9 is admitted too early, or not at all")
	}
	take(9, 10+span, generator.Issued)           // in the place of 7
	take(8, 20+span, generator.Issued)           // still remembered
	take(7, 20+span, generator.TooManyTenants)   // 8 and 9 are not idle
	take(7, 10+2*span, generator.Issued)         // in the place of 9
	take(9, 10+2*span, generator.TooManyTenants) // neither is 7
	if lane.Tenants() != 2 {
		t.Errorf("%d tenants are remembered, want 2", lane.Tenants())
	}
}

// What a tenant has left in the past is gone once its place was taken: nobody knows any more what it
// had got there.
func TestATenantThatComesBackGetsNothingOfThePast(t *testing.T) {
	_, lane := openLane(t, tenantsLayout, 0)
	lane.BoundTenants(1)
	span := generator.Tick(lane.Span())
	for _, tenant := range []uint32{7, 8, 7} {
		at := map[uint32]generator.Tick{7: 100, 8: 100 + span}[tenant]
		if tenant == 7 && lane.Tenants() == 1 {
			at = 100 + 2*span
		}
		if _, out := lane.Take(tenant, at, 1); out != generator.Issued {
			t.Fatalf("tenant %d at tick %d: %s", tenant, at, out)
		}
	}
	for at := generator.Tick(1); at <= 100+span; at++ {
		for _, tenant := range []uint32{7, 9} { // 9 has never come
			if run, out := lane.Take(tenant, at, 1); out == generator.Issued {
				t.Fatalf("tenant %d got ID %d of tick %d", tenant, run.First, at)
			}
			if room := lane.Room(tenant, at); room != 0 {
				t.Fatalf("tenant %d has room for %d at tick %d", tenant, room, at)
			}
		}
	}
	for _, tenant := range []uint32{7, 9} {
		if at, ok := lane.NextRoom(tenant, 1, 100+2*span); !ok || at != 100+span+1 {
			t.Errorf("tenant %d has room from tick %d on (%v), want %d", tenant, at, ok, 100+span+1)
		}
	}
	if run, at, out := lane.TakeFirst(7, 1, 100+2*span, 1); out != generator.Issued || at != 100+span+1 {
		t.Errorf("a search for room gave %d of tick %d: %s; want tick %d", run.N, at, out, 100+span+1)
	}
}

// After a step back of the clock a place may be taken for a tick of which there is nothing left.
func TestAPlaceIsTakenWhileTheClockIsSetBack(t *testing.T) {
	for name, tt := range map[string]struct {
		take func(*generator.Lane) (generator.Run, generator.Tick, generator.Outcome)
		at   generator.Tick
		out  generator.Outcome
	}{
		"at a tick": {func(ln *generator.Lane) (generator.Run, generator.Tick, generator.Outcome) {
			run, out := ln.Take(10, 3000, 1)
			return run, 3000, out
		}, 3000, generator.Full},
		"at the first with room": {func(ln *generator.Lane) (generator.Run, generator.Tick, generator.Outcome) {
			return ln.TakeFirst(10, 3990, 6000, 1)
		}, 5001, generator.Issued},
	} {
		t.Run(name, func(t *testing.T) {
			_, lane := openLane(t, tenantsLayout, 0)
			lane.BoundTenants(2)
			for tenant, at := range map[uint32]generator.Tick{7: 5000, 8: 1} {
				if _, out := lane.Take(tenant, at, 1); out != generator.Issued {
					t.Fatal(out)
				}
			}
			if _, out := lane.Take(9, 5000+generator.Tick(lane.Span()), 1); out != generator.Issued { // in the place of 7
				t.Fatal(out)
			}
			if _, at, out := tt.take(lane); at != tt.at || out != tt.out { // in the place of 8
				t.Errorf("tick %d: %s, want tick %d: %s", at, out, tt.at, tt.out)
			}
			if _, out := lane.Take(11, tt.at+1, 1); out != generator.TooManyTenants {
				t.Errorf("a place that was just taken was taken again: %s", out)
			}
		})
	}
}

// TestCloseWhileAPlaceIsTaken: Close comes while the highest tick of all is that of a tenant whose
// place is being taken, which takes a while, as the rings are long. Close knows that tick.
func TestCloseWhileAPlaceIsTaken(t *testing.T) {
	for round := range 40 {
		_, ln := openLane(t, longRing, 50)
		ln.BoundTenants(1)
		const highest = 1000
		if _, out := ln.Take(7, highest, 1); out != generator.Issued {
			t.Fatal(out)
		}
		var started atomic.Bool
		var out generator.Outcome
		var all sync.WaitGroup
		all.Go(func() {
			started.Store(true)
			_, out = ln.Take(3, highest+generator.Tick(ln.Span()), 1)
		})
		for !started.Load() {
			yield()
		}
		for range round * 100 {
			_ = ln.Ceiling()
		}
		last := ln.Close()
		all.Wait()
		want := generator.Tick(highest)
		if out == generator.Issued {
			want += generator.Tick(ln.Span())
		}
		if last != want && (out == generator.Issued || last != highest+generator.Tick(ln.Span())) {
			t.Fatalf("round %d: Close returned %d; the Take that took the place: %s", round, last, out)
		}
	}
}

// TestNoIDTwiceWhileTenantsTakeEachOthersPlaces: eight goroutines take for six tenants, of which two
// are remembered, while the clock steps forth and back. A bit for each ID finds a duplicate exactly.
// A ring has two slots, so that a place is free again two ticks later.
func TestNoIDTwiceWhileTenantsTakeEachOthersPlaces(t *testing.T) {
	const (
		goroutines = 8
		ticks      = 1 << 13
		tenants    = 8
		seqBits    = 6
	)
	l := parse(t, "time=20@1s,worker=3,tenant=3,sequence=6;epoch=2026-01-01")
	for round := range uint64(3) {
		ln := must.Get(generator.NewLane(l, 0, 5, 0))(t)
		ln.BoundTenants(2)
		if round > 0 {
			ln.Roll()
		}
		ln.Raise(ticks - 1)
		seen := make([]atomic.Uint64, ticks*tenants<<seqBits/64)
		var clock, issued, refused, back, highest atomic.Int64
		clock.Store(1)
		var all sync.WaitGroup
		for g := range uint64(goroutines) {
			all.Go(func() {
				random := rand.New(rand.NewPCG(g, round))
				for {
					now := generator.Tick(clock.Load())
					if now >= ticks || t.Failed() {
						return
					}
					tenant := uint32(random.IntN(tenants-2)) + 1
					var run generator.Run
					var out generator.Outcome
					at := now
					if random.IntN(8) == 0 {
						run, at, out = ln.TakeFirst(tenant, now-1, now, 1+random.IntN(9))
					} else {
						run, out = ln.Take(tenant, now, 1+random.IntN(9))
					}
					switch out {
					case generator.Issued:
						issued.Add(int64(run.N))
						for h := highest.Load(); int64(at) > h && !highest.CompareAndSwap(h, int64(at)); h = highest.Load() {
						}
					case generator.TooManyTenants:
						refused.Add(1)
					case generator.Closed:
						return
					}
					for i := range run.N {
						parts, err := l.Decompose(run.First + int64(i)*l.Step())
						if err != nil || parts.Tick != at || parts.Tenant != uint64(tenant) {
							t.Errorf("tenant %d got %+v at tick %d: %v", tenant, parts, at, err)
							return
						}
						bit := (uint64(parts.Tick)*tenants+parts.Tenant)<<seqBits | parts.Sequence
						if mask := uint64(1) << (bit % 64); seen[bit/64].Or(mask)&mask != 0 {
							t.Errorf("issued twice: %+v", parts)
							return
						}
					}
					switch random.IntN(40) {
					case 0:
						if now > 8 && random.IntN(4) == 0 {
							clock.Add(-random.Int64N(6))
							back.Add(1)
						}
					case 1, 2:
						clock.Add(1 + random.Int64N(3))
					}
				}
			})
		}
		var last generator.Tick
		all.Go(func() {
			for clock.Load() < ticks-100 && !t.Failed() {
				yield()
			}
			last = ln.Close() // in the midst of it
		})
		all.Wait()
		if generator.Tick(highest.Load()) > last {
			t.Errorf("tick %d was issued, Close returned %d", highest.Load(), last)
		}
		if ln.Tenants() > 2 || issued.Load() == 0 || refused.Load() == 0 || back.Load() == 0 {
			t.Errorf("%d tenants, %d IDs, %d refusals, the clock set back %d times", ln.Tenants(), issued.Load(), refused.Load(), back.Load())
		}
		t.Logf("%d IDs, %d refusals, the clock set back %d times", issued.Load(), refused.Load(), back.Load())
	}
}
