package publicid

import "testing"

var sink int64

// A public ID takes at most 500 ns each way, and allocates nothing.
func BenchmarkPublicID(b *testing.B) {
	for _, size := range []struct{ name, key string }{{"AES-128", "k1 000102030405060708090a0b0c0d0e0f"}, {"AES-256", "k1 2b7e151628aed2a6abf7158809cf4f3cef4359d8d580aa4f7f036d6f04fc6a94"}} {
		keys := parsed(b, size.key)
		b.Run("encode/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			dst := make([]byte, 0, Width)
			for i := range b.N {
				dst = keys.AppendText(dst[:0], int64(i))
			}
		})
		text := string(keys.AppendText(nil, 1<<60))
		b.Run("decode/"+size.name, func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				id, err := keys.Parse(text)
				if err != nil {
					b.Fatal(err)
				}
				sink += id
			}
		})
	}
}
