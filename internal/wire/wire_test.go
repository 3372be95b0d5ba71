package wire_test

import (
	"errors"
	"fmt"
	"io"
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
	r := wire.NewReader(strings.NewReader(":17\r\n:-3\r\n:9223372036854775807\r\n*2\r\n:1\r\n:2\r\n*0\r\n-UNAVAILABLE wait\r\n-ERR no\r\n$5\r\na\r\nb:\r\n"))
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

func TestExpand(t *testing.T) {
	ids, err := wire.Expand([]int64{1}, []int64{4, 100, 3, 200, 1})
	if !slices.Equal(ids, []int64{1, 100, 104, 108, 200}) || err != nil {
		t.Errorf("%v, %v", ids, err)
	}
	for _, broken := range [][]int64{{}, {1, 5}, {0, 5, 1}, {1, 5, 0}, {1, 5, -1}, {1, 5, 1 << 40}} {
		if ids, err := wire.Expand(nil, broken); !errors.Is(err, wire.ErrFrame) || len(ids) != 0 {
			t.Errorf("%v: %v, %v", broken, ids, err)
		}
	}
}

func FuzzReader(f *testing.F) {
	f.Add(":17\r\n*2\r\n:1\r\n:2\r\n$1\r\na\r\n-ERR no\r\n")
	f.Add(":1\r\n*3\r\n:4\r\n:100\r\n:3\r\n$1\r\na\r\n")
	f.Fuzz(func(t *testing.T, in string) {
		whole := all(t, strings.NewReader(in))
		if pieces := all(t, iotest.OneByteReader(strings.NewReader(in))); whole != pieces {
			t.Errorf("%q reads as\n%sand byte by byte as\n%s", in, whole, pieces)
		}
	})
}

// all is what comes of everything in in, each reply asked for as another kind.
func all(t *testing.T, in io.Reader) string {
	r := wire.NewReader(in)
	var said strings.Builder
	var refused wire.Refused
	for kind := 0; ; kind++ {
		var err error
		switch kind % 3 {
		case 0:
			var id int64
			id, err = r.Int()
			fmt.Fprintln(&said, id, err)
		case 1:
			var ids []int64
			ids, err = r.Ints(nil)
			fmt.Fprintln(&said, ids, err)
			if err == nil && len(ids) < 1000 {
				ids = ids[:min(len(ids), 3)]
				if all, err := wire.Expand(nil, ids); err == nil && (len(ids) == 3 && int64(len(all)) != ids[2] || len(ids) == 3 && all[0] != ids[1]) {
					t.Errorf("%d is %d", ids, all)
				}
			}
		case 2:
			var text string
			text, err = r.Bulk()
			fmt.Fprintf(&said, "%q %v\n", text, err)
		}
		switch {
		case err == nil || errors.As(err, &refused):
		case err == io.EOF || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, wire.ErrFrame):
			return said.String()
		default:
			t.Fatalf("unexpected error %v", err)
		}
	}
}
