package uuid7_test

import "testing"

var sink int64

// A UUID takes at most 500 ns each way, and allocates nothing.
func BenchmarkUUID(b *testing.B) {
	for _, layout := range []string{"flakeward", "time=51@7us,worker=6,sequence=5;epoch=2026-01-01"} {
		c, _ := coder(b, layout, cluster)
		b.Run("encode/"+layout, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, 36)
			for i := range b.N {
				dst = c.AppendText(dst[:0], 1<<60|int64(i))
			}
		})
		text := string(c.AppendText(nil, 1<<60|12345))
		b.Run("decode/"+layout, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				id, err := c.Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				sink += id
			}
		})
	}
}
