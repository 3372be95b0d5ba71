package uuid7_test

import (
	"strings"
	"testing"
)

// fuzzed are layouts with ticks of less than, exactly, and more than a millisecond, and with the
// time in another place.
var fuzzed = []string{
	"flakeward",
	"time=51@7us,worker=6,sequence=5;epoch=2026-01-01T00:00:00.000123457Z",
	"time=43@500us,worker=10,sequence=10;epoch=2026-01-01",
	"sonyflake",
	"worker=5,time=41@1ms,tenant=3,sequence=9;epoch=2026-01-01",
}

// FuzzParse: a text is refused, or it is what AppendText writes of the ID.
func FuzzParse(f *testing.F) {
	for i, layout := range fuzzed {
		c, _ := coder(f, layout, cluster)
		f.Add(uint8(i), string(c.AppendText(nil, 1<<40+7)))
		f.Add(uint8(i), strings.ToUpper(string(c.AppendText(nil, 1<<40+7))))
	}
	f.Add(uint8(0), "00000000-0000-0000-0000-000000000000")
	f.Add(uint8(0), "{6f1c1a52-0b67-7b8e-9d6a-3c2f4e5d7a}")
	f.Fuzz(func(t *testing.T, layout uint8, text string) {
		c, l := coder(t, fuzzed[int(layout)%len(fuzzed)], cluster)
		id, err := c.Parse(text)
		if err != nil {
			if id != 0 || len(err.Error()) > 400 {
				t.Errorf("Parse(%q) = %d, %v", text, id, err)
			}
			return
		}
		if got := string(c.AppendText(nil, id)); got != text {
			t.Errorf("layout %s: %q is parsed as %d, which is written as %q", l, text, id, got)
		}
	})
}
