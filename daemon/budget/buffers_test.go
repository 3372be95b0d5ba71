package budget

import (
	"bytes"
	"testing"
)

func TestOnceMuchIsKeptBuffersMakeNoGarbage(t *testing.T) {
	b := New(1 << 20)
	all := b.Open(busiest)
	all.Hold(512 << 10)
	request := make([]byte, 60<<10)
	b.GiveBack(b.Append(nil, request))
	if n := testing.AllocsPerRun(100, func() { b.GiveBack(b.Append(nil, request)) }); n > 0 {
		t.Errorf("%v allocations for a buffer as large as one that was given back", n)
	}
	if n := testing.AllocsPerRun(100, func() { b.GiveBack(b.Append(nil, request[:20<<10])) }); n > 0 {
		t.Errorf("%v allocations for a buffer of half the size", n)
	}
}

func TestABufferThatGrowsKeepsWhatIsInIt(t *testing.T) {
	b := New(1 << 30)
	var buf, want []byte
	for i := range 200 {
		part := bytes.Repeat([]byte{byte(i)}, 20*i)
		buf, want = b.Append(buf, part), append(want, part...)
	}
	if !bytes.Equal(buf, want) {
		t.Error("what was appended has changed")
	}
}

func TestSparesAreAPartOfTheBudgetAndEndWithItsUse(t *testing.T) {
	const limit = 1 << 20
	b := New(limit)
	all := b.Open(busiest)
	var bufs [][]byte
	for range 20 {
		bufs = append(bufs, b.Append(nil, make([]byte, 64<<10)))
	}
	give := func() {
		for _, buf := range bufs {
			b.GiveBack(buf)
		}
	}
	if give(); b.spares.bytes != 0 {
		t.Errorf("%d bytes are spare while little is kept", b.spares.bytes)
	}
	all.Hold(limit)
	if give(); b.spares.bytes == 0 || b.spares.bytes > limit/sparePart {
		t.Errorf("%d bytes are spare of a budget of %d", b.spares.bytes, limit)
	}
	if all.Hold(limit / 8); b.spares.bytes != 0 {
		t.Errorf("%d bytes are spare after most has been given up", b.spares.bytes)
	}
}
