package generator_test

import (
	"testing"
	"time"

	"github.com/flakeward/flakeward/generator"
)

// FuzzBounds: within the bounds of a span lie exactly the IDs of the ticks that start in it.
func FuzzBounds(f *testing.F) {
	f.Add("twitter", int64(1656432460105000000), int64(1656432460205000000))
	f.Add("uidgenerator", int64(1463702400000000000), int64(1)<<62)
	f.Add("sonyflake", int64(-1), int64(1)<<62)
	f.Add("uidgenerator", int64(1463702400000000000), int64(1463702400000000000))
	f.Fuzz(func(t *testing.T, text string, from, to int64) {
		l, err := generator.ParseLayout(text)
		if err != nil {
			return
		}
		first, below, err := l.Bounds(time.Unix(0, from), time.Unix(0, to))
		if err != nil {
			if first != 0 || below != 0 {
				t.Errorf("%s: %d to %d, %v", l, first, below, err)
			}
			return
		}
		if first < 0 || below < first {
			t.Fatalf("%s: from %d to %d: %d to %d", l, from, to, first, below)
		}
		for _, c := range []struct {
			id     int64
			inside bool
		}{{first - 1, false}, {first, below > first}, {below - 1, below > first}, {below, false}} {
			parts, err := l.Decompose(c.id)
			if err != nil {
				continue // no ID of the layout
			}
			in := !parts.Time.Before(time.Unix(0, from)) && parts.Time.Before(time.Unix(0, to))
			if in != c.inside {
				t.Errorf("%s: from %d to %d: %d is of %s, and inside is %v", l, from, to, c.id, parts.Time, c.inside)
			}
		}
	})
}
