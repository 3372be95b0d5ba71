package generator_test

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
	"github.com/flakeward/flakeward/internal/must"
)

// drawLayoutText draws the text of a valid layout: any order of fields, any
// widths within 63 bits, any tick, any epoch.
func drawLayoutText(t *rapid.T) string {
	names := []string{"time", "worker", "sequence"}
	for _, optional := range []string{"datacenter", "tenant"} {
		if rapid.Bool().Draw(t, optional) {
			names = append(names, optional)
		}
	}
	names = rapid.Permutation(names).Draw(t, "order")
	left := 63 - len(names)
	fields := make([]string, len(names))
	for i, name := range names {
		extra := rapid.IntRange(0, left).Draw(t, name)
		left -= extra
		fields[i] = fmt.Sprintf("%s=%d", name, 1+extra)
		if name == "time" {
			fields[i] += "@" + time.Duration(drawTick(t)).String()
		}
	}
	epoch := time.Unix(0, rapid.Int64().Draw(t, "epoch")).UTC().Format(time.RFC3339Nano)
	return strings.Join(fields, ",") + ";epoch=" + epoch
}

// drawTick draws a tick's length in ns, from 1 us up.
func drawTick(t *rapid.T) int64 {
	return rapid.OneOf(
		rapid.Int64Range(1000, math.MaxInt64),
		rapid.Int64Range(1000, 1_000_000),
		rapid.SampledFrom([]int64{1000, 1_000_000, 10_000_000, 1_000_000_000, 1 << 30, 1<<30 + 1, 1<<30 - 1, math.MaxInt64}),
	).Draw(t, "tick")
}

// drawLayout draws a layout, which is the same when what it prints is read.
func drawLayout(t *rapid.T) *generator.Layout {
	text := drawLayoutText(t)
	l, err := generator.ParseLayout(text)
	if err != nil {
		t.Fatalf("ParseLayout(%q): %v", text, err)
	}
	again, err := generator.ParseLayout(l.String())
	if err != nil || !reflect.DeepEqual(again, l) {
		t.Fatalf("%q is read as %s, and that as %s, %v", text, l, again, err)
	}
	return l
}

// TestPropertyEveryIDDecomposes: an ID of the layout comes apart into parts that make it, and no
// other number comes apart.
func TestPropertyEveryIDDecomposes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		var width int
		for f := generator.Time; f <= generator.Sequence; f++ {
			width += l.Bits(f)
		}
		id := rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, math.MaxInt64>>(63-width))).Draw(t, "id")
		parts, err := l.Decompose(id)
		if fits := id >= 0 && id>>width == 0; fits != (err == nil) {
			t.Fatalf("%s: Decompose(%d): %v", l, id, err)
		}
		if err != nil {
			return
		}
		if again, err := l.Compose(parts); err != nil || again != id {
			t.Fatalf("%s: %d is %+v, and that is %d, %v", l, id, parts, again, err)
		}
		if !parts.Time.Equal(l.StartOf(parts.Tick)) || parts.Tick > l.MaxTick() {
			t.Fatalf("%s: %d is of tick %d, at %s", l, id, parts.Tick, parts.Time)
		}
	})
}

// TestPropertyTicks checks the arithmetic of time against big integers.
func TestPropertyTicks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := drawLayout(t)
		epoch, length := big.NewInt(l.Epoch().UnixNano()), big.NewInt(int64(l.TickLength()))
		limit := func(v *big.Int) int64 {
			switch {
			case v.Cmp(big.NewInt(math.MaxInt64)) > 0:
				return math.MaxInt64
			case v.Cmp(big.NewInt(math.MinInt64)) < 0:
				return math.MinInt64
			}
			return v.Int64()
		}

		at := rapid.Int64().Draw(t, "at")
		since := big.NewInt(limit(new(big.Int).Sub(big.NewInt(at), epoch)))
		want := new(big.Int).Div(since, length) // Euclidean: floor, for a positive divisor
		if got := l.TickAt(at); int64(got) != want.Int64() {
			t.Fatalf("%s: TickAt(%d) = %d, want %d", l, at, got, want)
		}

		tick := rapid.Int64().Draw(t, "t")
		start := new(big.Int).Mul(big.NewInt(tick), length)
		start.Add(start, epoch)
		if got := l.UnixNanos(generator.Tick(tick)); got != limit(start) {
			t.Fatalf("%s: UnixNanos(%d) = %d, want %d", l, tick, got, limit(start))
		}
		seconds, nanos := new(big.Int).DivMod(start, big.NewInt(1e9), new(big.Int))
		if seconds.IsInt64() && new(big.Int).Abs(seconds).Cmp(big.NewInt(1<<61)) < 0 {
			if got := l.StartOf(generator.Tick(tick)); !got.Equal(time.Unix(seconds.Int64(), nanos.Int64())) {
				t.Fatalf("%s: StartOf(%d) = %d s %d ns, want %d s %d ns", l, tick, got.Unix(), got.Nanosecond(), seconds, nanos)
			}
		}
	})
}

// TestPropertyBounds: an ID is within the bounds of exactly the spans that its time is in, whatever
// its worker and number are. Two spans that adjoin have no ID in common and leave none out.
func TestPropertyBounds(t *testing.T) {
	layouts := []*generator.Layout{parse(t, "time=20@10ms,datacenter=3,worker=5,tenant=2,sequence=6;epoch=2026-01-01")}
	for _, name := range generator.Presets() {
		layouts = append(layouts, parse(t, name))
	}
	rapid.Check(t, func(t *rapid.T) {
		l := rapid.SampledFrom(layouts).Draw(t, "layout")
		end := l.End().Sub(l.Epoch())
		from := l.Epoch().Add(time.Duration(rapid.Int64Range(0, int64(end)-int64(l.TickLength())).Draw(t, "from")))
		to := from.Add(time.Duration(rapid.Int64Range(1, int64(end)).Draw(t, "length")))
		id := must.Get(l.Compose(generator.Parts{
			Tick:     generator.Tick(rapid.Int64Range(0, int64(l.MaxTick())).Draw(t, "tick")),
			Worker:   rapid.Uint64Range(0, l.Max(generator.Worker)).Draw(t, "worker"),
			Sequence: rapid.Uint64Range(0, l.Max(generator.Sequence)).Draw(t, "sequence"),
		}))(t)
		first, below, err := l.Bounds(from, to)
		if err != nil {
			t.Skip(err) // it has no tick above the epoch's
		}
		parts := must.Get(l.Decompose(id))(t)
		within := !parts.Time.Before(from) && parts.Time.Before(to)
		if inside := first <= id && id < below; inside != within {
			t.Fatalf("ID %d of %s: inside the bounds of %s to %s: %v", id, parts.Time, from, to, inside)
		}
		if to.Before(l.StartOf(l.MaxTick())) {
			if next, _, err := l.Bounds(to, to.Add(time.Hour)); err != nil || next != below {
				t.Fatalf("up to %s the bounds end at %d, and from there on begin at %d, %v", to, below, next, err)
			}
		}
	})
}
