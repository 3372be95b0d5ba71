package generator_test

import (
	"math"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// openLane returns a lane of the layout whose ceiling is MaxTick.
func openLane(tb testing.TB, layout string, floor generator.Tick) (*generator.Layout, *generator.Lane) {
	tb.Helper()
	l := must.Get(generator.ParseLayout(layout))(tb)
	ln := must.Get(generator.NewLane(l, 0, 1, floor))(tb)
	if !ln.Raise(l.MaxTick()) {
		tb.Fatal("a new lane refuses its ceiling")
	}
	return l, ln
}

// small is a layout whose ring has 4 slots of 8 sequence numbers.
const small = "time=20@500ms,datacenter=2,worker=3,tenant=1,sequence=3;epoch=2026-01-01"

func TestNewLaneErrors(t *testing.T) {
	tests := []struct {
		layout     string
		datacenter uint64
		worker     int
		floor      generator.Tick
		want       string
	}{
		{small, 4, 0, 0, "datacenter 4"},
		{"flakeward", 1, 0, 0, "datacenter 1"},
		{small, 0, 8, 0, "worker ID 8"},
		{small, 0, -1, 0, "worker ID -1"},
		{small, 0, 0, -1, "floor -1"},
		{small, 0, 0, 1 << 20, "floor 1048576"},
		{"time=24@1ms,worker=3,tenant=33,sequence=3;epoch=2026-01-01", 0, 0, 0, "33 tenant bits"},
	}
	for _, tt := range tests {
		_, err := generator.NewLane(parse(t, tt.layout), tt.datacenter, tt.worker, tt.floor)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("NewLane(%s, %d, %d, %d): error %v does not mention %q", tt.layout, tt.datacenter, tt.worker, tt.floor, err, tt.want)
		}
	}
}

// TestTakeOutcomes goes through all answers of one lane in order.
func TestTakeOutcomes(t *testing.T) {
	l := parse(t, small)
	ln := must.Get(generator.NewLane(l, 3, 5, 100))(t)
	take := func(tenant uint32, tick generator.Tick, n int, sequence uint64, wantN int, want generator.Outcome) {
		t.Helper()
		run, got := ln.Take(tenant, tick, n)
		if got != want || run.N != wantN {
			t.Fatalf("Take(%d, %d, %d) = %+v, %s; want %d, %s", tenant, tick, n, run, got, wantN, want)
		}
		if run.N == 0 {
			if run.First != 0 {
				t.Fatalf("Take(%d, %d, %d): an empty run begins with %d", tenant, tick, n, run.First)
			}
			return
		}
		first, err := l.Compose(generator.Parts{Tick: tick, Datacenter: 3, Worker: 5, Tenant: uint64(tenant), Sequence: sequence})
		if err != nil || run.First != first {
			t.Fatalf("Take(%d, %d, %d) begins with %d, want %d (%v)", tenant, tick, n, run.First, first, err)
		}
	}
	if ln.Highest() != 100 || ln.Floor() != 100 || ln.Ceiling() != 100 || ln.Worker() != 5 || ln.Span() != 4 || ln.Closed() {
		t.Fatalf("a new lane: highest %d, floor %d, ceiling %d, worker %d, span %d, closed %v",
			ln.Highest(), ln.Floor(), ln.Ceiling(), ln.Worker(), ln.Span(), ln.Closed())
	}
	take(0, 101, 1, 0, 0, generator.AboveCeiling) // nothing is granted yet
	if !ln.Raise(110) || ln.Ceiling() != 110 {
		t.Fatal("Raise(110) has no effect")
	}
	if !ln.Raise(105) || ln.Ceiling() != 110 {
		t.Fatal("Raise(105) lowers the ceiling")
	}
	take(0, 100, 1, 0, 0, generator.BelowFloor)
	take(0, -1, 1, 0, 0, generator.BelowFloor)
	take(0, math.MinInt64, 1, 0, 0, generator.BelowFloor)
	take(2, 101, 1, 0, 0, generator.BadTenant)
	take(0, 101, 0, 0, 0, generator.Issued)
	take(0, 101, -1, 0, 0, generator.Issued)
	take(0, 101, 1, 0, 1, generator.Issued)
	take(0, 101, 5, 1, 5, generator.Issued)
	take(1, 101, 1, 6, 1, generator.Issued) // another tenant, of the same numbers
	take(0, 101, 5, 7, 1, generator.Issued) // only one is left
	take(0, 101, 1, 0, 0, generator.Full)
	take(0, 110, math.MaxInt, 0, 8, generator.Issued)
	take(0, 111, 1, 0, 0, generator.AboveCeiling)
	take(0, 105, 3, 0, 3, generator.Issued) // the slot of 101
	take(0, 101, 1, 0, 0, generator.Passed)
	take(0, 104, 1, 0, 1, generator.Issued) // back, in a slot with room
	if ln.Highest() != 110 {
		t.Fatalf("highest is %d", ln.Highest())
	}
	if last := ln.Close().Or(-1); last != 110 {
		t.Fatalf("Close() = %d", last)
	}
	for _, tick := range []generator.Tick{1, 100, 104, 111, 1 << 20, math.MaxInt64} {
		take(0, tick, 1, 0, 0, generator.Closed)
	}
	if ln.Raise(120) || !ln.Closed() || ln.Ceiling() != 100 || ln.Close().Or(-1) != 110 || ln.Highest() != 110 {
		t.Fatal("a closed lane comes back")
	}
	if nothing := (generator.Last{}).Or(99); nothing != 99 {
		t.Fatalf("where no lane was closed all up to 99 may be issued, not up to %d", nothing)
	}
}

// TestSpan: a ring remembers at least 2 s and two ticks, in a power of two.
func TestSpan(t *testing.T) {
	for tick, want := range map[string]int{
		"1ms": 2048, "10ms": 256, "1s": 2, "1s1ns": 2, "999999999ns": 4, "2s": 2, "1h": 2,
		"2562047h": 2, "1us": 2_097_152, "500ms": 4, "600ms": 4, "300ms": 8,
	} {
		l := parse(t, "time=20@"+tick+",worker=1,sequence=1;epoch=2026-01-01")
		ln := must.Get(generator.NewLane(l, 0, 0, 0))(t)
		if got := ln.Span(); got != want {
			t.Errorf("ticks of %s: span %d, want %d", tick, got, want)
		}
	}
}

// TestTakeDoesNotAllocate.
func TestTakeDoesNotAllocate(t *testing.T) {
	_, ln := openLane(t, "flakeward", 0)
	ln.Take(0, 1, 1)
	tick := generator.Tick(1)
	if allocs := testing.AllocsPerRun(10_000, func() {
		tick++
		ln.Take(0, tick, 1)
		ln.Take(0, tick, 100)
		ln.Take(0, tick-1, 1)
		ln.NextRoom(tick-10, tick)
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
