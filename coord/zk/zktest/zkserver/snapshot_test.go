package zkserver

import (
	"bytes"
	"encoding/binary"
	"hash/adler32"
	"testing"

	"github.com/flakeward/flakeward/internal/must"
)

// made is a snapshot with a session, an ACL and the given nodes, whose cversions are
// 1, 2, 3...
func made(nodes ...string) []byte {
	b := []byte(snapshotMagic)
	number := func(v int32) { b = binary.BigEndian.AppendUint32(b, uint32(v)) }
	long := func(v uint64) { b = binary.BigEndian.AppendUint64(b, v) }
	text := func(s string) { number(int32(len(s))); b = append(b, s...) }
	number(2)
	long(7)
	number(1) // sessions
	long(0x1234)
	number(4000)
	number(1) // ACLs
	long(1)
	number(1)
	number(31)
	text("world")
	text("anyone")
	for i, n := range nodes {
		text(n)
		number(-1) // no data
		long(1)
		for range 4 {
			long(0)
		}
		number(0)
		number(int32(i + 1)) // cversion
		number(0)
		long(0)
		long(0)
	}
	text("/")
	long(uint64(adler32.Checksum(b)))
	text("/")
	return b
}

func TestSetCounter(t *testing.T) {
	old := made("", "/a", "/a/b", "/ab")
	for i, node := range []string{"/", "/a", "/a/b", "/ab"} {
		changed := must.Get(setCounter(append(old, "a digest"...), node, 1<<31-1))(t)
		at, end, err := counterAt(changed, node)
		if err != nil || len(changed) != len(old) {
			t.Fatalf("%s: %d bytes after %d, %v", node, len(changed), len(old), err)
		}
		if got := binary.BigEndian.Uint32(changed[at:]); got != 1<<31-1 {
			t.Errorf("%s: counter %d", node, got)
		}
		if got := binary.BigEndian.Uint64(changed[end:]); got != uint64(adler32.Checksum(changed[:end])) {
			t.Errorf("%s: a wrong seal", node)
		}
		// Nothing else is touched.
		binary.BigEndian.PutUint32(changed[at:], uint32(i+1))
		if !bytes.Equal(changed[:end], old[:end]) {
			t.Errorf("%s: more than the counter was changed", node)
		}
	}
}

func TestSetCounterRefuses(t *testing.T) {
	old := made("", "/a")
	for n := range len(old) - 5 {
		if _, err := setCounter(old[:n], "/a", 5); err == nil {
			t.Errorf("the first %d of %d bytes were taken", n, len(old))
		}
	}
	if _, err := setCounter(old, "/b", 5); err == nil {
		t.Error("a node that is not there was changed")
	}
	for i := range len(old) - 5 {
		broken := bytes.Clone(old)
		broken[i] ^= 1
		if _, err := setCounter(broken, "/a", 5); err == nil {
			t.Errorf("a snapshot with byte %d changed was taken", i)
		}
	}
}
