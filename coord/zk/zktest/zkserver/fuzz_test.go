package zkserver

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"testing"
)

// sealed ends a snapshot's nodes as a server does.
func sealed(body []byte) []byte {
	body = binary.BigEndian.AppendUint64(bytes.Clone(body), uint64(adler32.Checksum(body)))
	return append(body, 0, 0, 0, 1, '/')
}

// FuzzCounter: a snapshot of any bytes is refused, or its counter is set and nothing else.
func FuzzCounter(f *testing.F) {
	text := func(b []byte, s string) []byte {
		return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...)
	}
	body := append([]byte(snapshotMagic), make([]byte, 4+8+4+4)...)
	for _, path := range []string{"", "/f", "/f/claims"} {
		body = append(text(text(body, path), "data"), make([]byte, 8+4*8+3*4+2*8)...)
	}
	body = text(body, "/")
	f.Add(body, "/f/claims", int32(1<<31-1))
	f.Add(body, "/", int32(0))
	f.Add(body[:60], "/f", int32(5))
	f.Fuzz(func(t *testing.T, body []byte, node string, value int32) {
		_, _ = setCounter(body, node, value) // without a seal that no fuzzer finds
		_, end, err := counterAt(body, node)
		if err != nil {
			return
		}
		whole := sealed(body[:end])
		changed, err := setCounter(whole, node, value)
		if err != nil || len(changed) != len(whole) {
			t.Fatalf("%q was not changed: %v", whole, err)
		}
		counter, _, err := counterAt(changed, node)
		if err != nil || int32(binary.BigEndian.Uint32(changed[counter:])) != value {
			t.Fatalf("the counter was set to %d, and is %x, %v", value, changed, err)
		}
		binary.BigEndian.PutUint32(changed[counter:], binary.BigEndian.Uint32(whole[counter:]))
		if !bytes.Equal(changed[:end], whole[:end]) {
			t.Fatal("more than the counter was changed")
		}
	})
}
