package wire_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/flakeward/flakeward/internal/wire"
)

func TestAppendCommand(t *testing.T) {
	if got := string(wire.AppendCommand(nil, "NEXT", "1000")); got != "*2\r\n$4\r\nNEXT\r\n$4\r\n1000\r\n" {
		t.Errorf("%q", got)
	}
}

func TestReadReplies(t *testing.T) {
	r := wire.NewReader(strings.NewReader(":17\r\n:-3\r\n:9223372036854775807\r\n*2\r\n:1\r\n:2\r\n*0\r\n-UNAVAILABLE wait\r\n-ERR no\r\n$5\r\na\r\nb:\r\n+OK\r\n-WRONGPASS no\r\n:1\r\n"))
	for _, want := range []int64{17, -3, 1<<63 - 1} {
		if got, err := r.Int(); got != want || err != nil {
			t.Errorf("%d, %v, want %d", got, err, want)
		}
	}
	ids, err := r.Ints([]int64{9})
	if !slices.Equal(ids, []int64{9, 1, 2}) || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	if ids, err := r.Ints(nil); len(ids) != 0 || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	var refused wire.Refused
	if _, err := r.Int(); !errors.As(err, &refused) || refused != "UNAVAILABLE wait" {
		t.Errorf("%v", err)
	}
	if ids, err := r.Ints(ids); !errors.As(err, &refused) || refused != "ERR no" || len(ids) != 3 {
		t.Errorf("%v, %v", ids, err)
	}
	if text, err := r.Bulk(); text != "a\r\nb:" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if err := r.OK(); err != nil {
		t.Errorf("OK: %v", err)
	}
	if err := r.OK(); !errors.As(err, &refused) || refused != "WRONGPASS no" {
		t.Errorf("%v", err)
	}
	if err := r.OK(); !errors.Is(err, wire.ErrFrame) {
		t.Errorf("%v", err)
	}
	if _, err := r.Int(); err != io.EOF {
		t.Errorf("%v", err)
	}
}

func TestBrokenReplies(t *testing.T) {
	asInt := func(r *wire.Reader) error { _, err := r.Int(); return err }
	asInts := func(r *wire.Reader) error {
		ids, err := r.Ints([]int64{5})
		if len(ids) != 1 {
			t.Errorf("a broken array left %v", ids)
		}
		return err
	}
	asBulk := func(r *wire.Reader) error { _, err := r.Bulk(); return err }
	for _, tt := range []struct {
		in   string
		read func(*wire.Reader) error
		want error
	}{
		{":1", asInt, io.ErrUnexpectedEOF},
		{":12\r", asInt, io.ErrUnexpectedEOF},
		{"*2\r\n:1\r\n", asInts, io.ErrUnexpectedEOF},
		{"*2\r\n:1\r\n:", asInts, io.ErrUnexpectedEOF},
		{"$4\r\nab", asBulk, io.ErrUnexpectedEOF},
		{"-no", asInt, io.ErrUnexpectedEOF},
		{":\r\n", asInt, wire.ErrFrame},
		{":-\r\n", asInt, wire.ErrFrame},
		{":1x\r\n", asInt, wire.ErrFrame},
		{":+1\r\n", asInt, wire.ErrFrame},
		{":+123456789012345678\r\n", asInt, wire.ErrFrame},
		{"-\r\n", asInt, wire.ErrFrame},
		{"$-1\r\n", asBulk, wire.ErrFrame},
		{":1\n", asInt, wire.ErrFrame},
		{"\r\n", asInt, wire.ErrFrame},
		{":9223372036854775808\r\n", asInt, wire.ErrFrame},
		{"*1\r\n:1\r\n", asInt, wire.ErrFrame},
		{"*-1\r\n", asInts, wire.ErrFrame},
		{"*9999999999\r\n", asInts, wire.ErrFrame},
		{"*1\r\n$1\r\na\r\n", asInts, wire.ErrFrame},
		{"$9999999999\r\n", asBulk, wire.ErrFrame},
		{"$1\r\nabc\r\n", asBulk, wire.ErrFrame},
		{strings.Repeat("x", 1<<20), asInt, wire.ErrFrame},
	} {
		if err := tt.read(wire.NewReader(strings.NewReader(tt.in))); !errors.Is(err, tt.want) {
			t.Errorf("%.20q: %v, want %v", tt.in, err, tt.want)
		}
	}
}

// TestRuns reads as many IDs as were asked for, none below 0, and nothing of what is no such reply.
func TestRuns(t *testing.T) {
	r := wire.NewReaderSize(strings.NewReader("*3\r\n:1\r\n:7\r\n:3\r\n-UNAVAILABLE wait\r\n*5\r\n:64\r\n:0\r\n:1\r\n:9223372036854775743\r\n:2\r\n"), 4<<10)
	one := []wire.Pair{{First: 1, N: 1}}
	pairs, step, err := r.Runs(one, 3)
	if !slices.Equal(pairs, []wire.Pair{{First: 1, N: 1}, {First: 7, N: 3}}) || step != 1 || err != nil {
		t.Errorf("%v, %d, %v", pairs, step, err)
	}
	var refused wire.Refused
	if pairs, _, err := r.Runs(pairs, 3); !errors.As(err, &refused) || refused != "UNAVAILABLE wait" || len(pairs) != 2 {
		t.Errorf("%v, %v", pairs, err)
	}
	pairs, step, err = r.Runs(nil, 3)
	if !slices.Equal(pairs, []wire.Pair{{First: 0, N: 1}, {First: math.MaxInt64 - 64, N: 2}}) || step != 64 || err != nil {
		t.Errorf("%v, %d, %v", pairs, step, err)
	}
	const ok = "*3\r\n:1\r\n:7\r\n:3\r\n"
	for cut := 1; cut < len(ok); cut++ {
		pairs, _, err := wire.NewReader(strings.NewReader(ok[:cut])).Runs(one, 3)
		if !errors.Is(err, io.ErrUnexpectedEOF) || len(pairs) != 1 {
			t.Errorf("%q: %v, %v", ok[:cut], pairs, err)
		}
	}
	for _, in := range []string{
		"*2\r\n:1\r\n:7\r\n", "*1\r\n:1\r\n", "*0\r\n", "*-1\r\n", "*9\r\n", "*99999999999999999999\r\n", ":1\r\n", "+OK\r\n", "$1\r\na\r\n", "_\r\n", "-\r\n", "\r\n", "\n", "*3\n",
		"*3\r\n:0\r\n:7\r\n:3\r\n", "*3\r\n:-1\r\n:7\r\n:3\r\n", // steps
		"*3\r\n:1\r\n:-7\r\n:3\r\n", "*3\r\n:1\r\n:7\r\n:0\r\n", "*3\r\n:1\r\n:7\r\n:4\r\n", "*5\r\n:1\r\n:7\r\n:3\r\n:20\r\n:1\r\n", // more than was asked for
		"*3\r\n:1\r\n:9223372036854775807\r\n:2\r\n", "*3\r\n:9223372036854775807\r\n:1\r\n:2\r\n", "*3\r\n:4611686018427387904\r\n:0\r\n:3\r\n", // beyond the highest
		"*3\r\n:1\r\n:7\r\n:+3\r\n", "*3\r\n:1\r\n:7\r\n: 3\r\n", "*3\r\n:1\r\n:7\r\n:0x3\r\n", "*3\r\n:1\r\n:7\r\n:1_0\r\n", "*3\r\n:1\r\n:7\r\n:\r\n", "*3\r\n:1\r\n:7\r\n-ERR\r\n",
		strings.Repeat("x", 1<<16),
	} {
		if pairs, _, err := wire.NewReaderSize(strings.NewReader(in), 4<<10).Runs(nil, 3); !errors.Is(err, wire.ErrFrame) || pairs != nil {
			t.Errorf("%.40q: %v, %v", in, pairs, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(":17\r\n*2\r\n:1\r\n:2\r\n$1\r\na\r\n*3\r\n:4\r\n:100\r\n:3\r\n-ERR no\r\n", int64(5))
	f.Add(":1\r\n*0\r\n$0\r\n\r\n*5\r\n:64\r\n:0\r\n:1\r\n:9223372036854775743\r\n:2\r\n", int64(3))
	f.Fuzz(func(t *testing.T, in string, most int64) {
		whole := all(t, strings.NewReader(in), most)
		if pieces := all(t, iotest.OneByteReader(strings.NewReader(in)), most); whole != pieces {
			t.Errorf("%q reads as\n%sand byte by byte as\n%s", in, whole, pieces)
		}
	})
}

// all is what comes of everything in in, each reply asked for as another kind.
func all(t *testing.T, in io.Reader, most int64) string {
	r := wire.NewReader(in)
	var said strings.Builder
	var refused wire.Refused
	for kind := 0; ; kind++ {
		var got any
		var err error
		switch kind % 4 {
		case 0:
			got, err = r.Int()
		case 1:
			got, err = r.Ints(nil)
		case 2:
			got, err = r.Bulk()
		case 3:
			var pairs []wire.Pair
			var step int64
			pairs, step, err = r.Runs(nil, most)
			if got = fmt.Sprint(pairs, step); err == nil {
				rewrite(t, pairs, step, most)
			}
		}
		fmt.Fprintf(&said, "%q %v\n", fmt.Sprint(got), err)
		switch {
		case err == nil || errors.As(err, &refused):
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, wire.ErrFrame):
			return said.String()
		default:
			t.Fatalf("unexpected error %v", err)
		}
	}
}

// rewrite holds what was accepted to its bounds, and reads it again.
func rewrite(t *testing.T, pairs []wire.Pair, step, most int64) {
	b := fmt.Appendf(nil, "*%d\r\n:%d\r\n", 1+2*len(pairs), step)
	total := int64(0)
	for _, p := range pairs {
		if last := p.First + (p.N-1)*step; p.First < 0 || p.N < 1 || last < p.First {
			t.Errorf("%v in steps of %d", p, step)
		}
		total += p.N
		b = fmt.Appendf(b, ":%d\r\n:%d\r\n", p.First, p.N)
	}
	if total < 1 || total > most || step < 1 {
		t.Errorf("%d of %d in steps of %d", total, most, step)
	}
	again, same, err := wire.NewReader(strings.NewReader(string(b))).Runs(nil, most)
	if !slices.Equal(pairs, again) || step != same || err != nil {
		t.Errorf("%v, %d, written anew: %v, %d, %v", pairs, step, again, same, err)
	}
}
