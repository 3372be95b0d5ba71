package generator_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/generator"
)

// FuzzParseLayout: whatever is read prints to a form that is read back to the
// same, and holds what it promises.
func FuzzParseLayout(f *testing.F) {
	for _, name := range generator.Presets() {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := generator.ParseLayout(text)
		if err != nil {
			said := err.Error()
			if !strings.Contains(said, strconv.Quote(text)) && !strings.Contains(said, strconv.Quote(text[:min(len(text), 32)])) || len(said) > 3000 || strings.ContainsAny(said, "\n\x1b") {
				t.Fatalf("%q: the error %q does not name it in one line", text, said)
			}
			return
		}
		again, err := generator.ParseLayout(l.String())
		if err != nil {
			t.Fatalf("%q is printed as %q: %v", text, l, err)
		}
		if again.String() != l.String() {
			t.Fatalf("%q is printed as %q, and that as %q", text, l, again)
		}
		width := 0
		for field := generator.Time; field <= generator.Sequence; field++ {
			width += l.Bits(field)
		}
		highest, err := l.Compose(generator.Parts{
			Tick:       l.MaxTick(),
			Datacenter: l.Max(generator.Datacenter),
			Worker:     l.Max(generator.Worker),
			Tenant:     l.Max(generator.Tenant),
			Sequence:   l.Max(generator.Sequence),
		})
		if err != nil || width > 63 || highest != 1<<width-1 {
			t.Fatalf("%s: the highest ID is %d (%v), of %d bits", l, highest, err, width)
		}
		if tick := l.TickAt(l.Epoch().UnixNano()); tick != 0 {
			t.Fatalf("%s: the epoch is in tick %d", l, tick)
		}
		if l.TickAt(math.MinInt64) > 0 || l.TickAt(math.MaxInt64) < 0 {
			t.Fatalf("%s: ticks from %d to %d", l, l.TickAt(math.MinInt64), l.TickAt(math.MaxInt64))
		}
		if !l.End().After(l.Epoch()) || l.YearsLeft(l.End()) != 0 {
			t.Fatalf("%s: ends %s with %v years left", l, l.End(), l.YearsLeft(l.End()))
		}
	})
}
