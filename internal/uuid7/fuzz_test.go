package uuid7_test

import (
	"strings"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
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

// FuzzDecode: 16 bytes are refused, or they are what Encode returns of the ID. The bits that all
// UUIDs of the cluster share are set, so that most are not refused for these.
func FuzzDecode(f *testing.F) {
	for i, layout := range fuzzed {
		c, _ := coder(f, layout, cluster)
		for _, id := range []int64{1<<40 + 7, 12345} {
			u := must.Get(c.Encode(id))(f)
			f.Add(uint8(i), u[:], id > 12345)
		}
	}
	f.Fuzz(func(t *testing.T, layout uint8, b []byte, shared bool) {
		c, l := coder(t, fuzzed[int(layout)%len(fuzzed)], cluster)
		var u [16]byte
		copy(u[:], b)
		if shared {
			mine := must.Get(c.Encode(0))(t)
			copy(u[6:12], mine[6:12])
		}
		id, err := c.Decode(u)
		if err != nil {
			return
		}
		if got, err := c.Encode(id); got != u || err != nil {
			t.Errorf("layout %s: %x is decoded as %d, which is %x, %v", l, u, id, got, err)
		}
	})
}
