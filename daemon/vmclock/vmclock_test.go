package vmclock

import (
	"bytes"
	"encoding/binary"
	"slices"
	"strings"
	"testing"
)

// page returns a page as a hypervisor shows it.
func page(generation uint64) []byte {
	p := make([]byte, 4096)
	binary.LittleEndian.PutUint32(p[0:], 0x4b4c4356)
	binary.LittleEndian.PutUint32(p[4:], 4096)
	binary.LittleEndian.PutUint16(p[8:], 1)
	p[10] = 0xff // no counter of the processor's
	binary.LittleEndian.PutUint64(p[24:], 1<<8)
	binary.LittleEndian.PutUint64(p[104:], generation)
	return p
}

func TestOnlyAPageWithAGenerationIsUsed(t *testing.T) {
	change := func(at int, b ...byte) []byte {
		p := page(7)
		copy(p[at:], b)
		return p
	}
	for name, c := range map[string]struct {
		page []byte
		says string // empty: it can be used
	}{
		"as Firecracker shows it":        {page(0), ""},
		"cut behind the generation":      {page(7)[:112], ""},
		"with a magic of those letters":  {change(0, 'V', 'C', 'L', 'K'), ""},
		"of the least size":              {change(4, 112, 0, 0, 0), ""},
		"with further flags":             {change(24, 0xff, 0xff), ""},
		"disrupted":                      {change(16, 1, 2, 3, 4, 5, 6, 7, 8), ""},
		"cut in the generation":          {page(7)[:111], "111 bytes"},
		"empty":                          {nil, "0 bytes"},
		"of zeros":                       {make([]byte, 4096), "magic is 0x0"},
		"of another magic":               {change(3, 'J'), "magic is 0x4a"},
		"that says it is too small":      {change(4, 111, 0, 0, 0), "111 bytes"},
		"of a version to come":           {change(8, 2), "version 2"},
		"of a version with a high byte":  {change(9, 1), "version 257"},
		"without the flag":               {change(24, 0xff, 0), "no generation"},
		"with the flag of another place": {change(24, 0, 2), "no generation"},
	} {
		err := parseHeader(c.page)
		if (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("a page %s: %v, want %q", name, err, c.says)
		}
	}
}

// FuzzHeader: a page is used if and only if each of the words that say so does, whatever else it
// holds, and reading changes nothing.
func FuzzHeader(f *testing.F) {
	f.Add(page(7))
	f.Add(page(7)[:112])
	f.Add(page(7)[:111])
	f.Add([]byte("VCLK"))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := slices.Clone(b)
		err := parseHeader(b)
		if !bytes.Equal(b, before) {
			t.Fatal("reading changed the page")
		}
		used := len(b) >= 112 && string(b[:4]) == "VCLK" &&
			(b[4] >= 112 || b[5] > 0 || b[6] > 0 || b[7] > 0) && b[8] == 1 && b[9] == 0 && b[25]&1 != 0
		if used != (err == nil) {
			t.Errorf("%x: %v, want it used: %v", b, err, used)
		}
	})
}
