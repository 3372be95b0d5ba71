package pace

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

// readAll reads a stream in pieces of at most size bytes, and returns its whole replies and the
// error that ended it.
func readAll(stream string, runs bool, size int) (all []reply, err error) {
	r := replies{runs: runs}
	for len(stream) > 0 {
		piece := []byte(stream[:min(size, len(stream))])
		stream = stream[len(piece):]
		for {
			rest, got, ok, err := r.parse(piece)
			if err != nil {
				return all, err
			}
			if !ok {
				break
			}
			all = append(all, got)
			piece = rest
		}
	}
	return all, nil
}

func TestReplies(t *testing.T) {
	for _, c := range []struct {
		name, stream string
		runs         bool
		want         []reply
	}{
		{"nothing", "", false, nil},
		{"integers", ":17\r\n:-3\r\n:9223372036854775807\r\n", false, []reply{{ids: 1}, {ids: 1}, {ids: 1}}},
		{"half of one", ":17\r\n:1", false, []reply{{ids: 1}}},
		{"an array", "*3\r\n:1\r\n:2\r\n:3\r\n:4\r\n", false, []reply{{ids: 3}, {ids: 1}}},
		{"an array that is not whole", "*3\r\n:1\r\n:2\r\n", false, nil},
		{"empty and null", "*0\r\n*-1\r\n$-1\r\n$0\r\n\r\n", false, []reply{{}, {}, {}, {}}},
		{"runs", "*5\r\n:1\r\n:70000000000\r\n:90\r\n:70000004096\r\n:10\r\n*3\r\n:1\r\n:7\r\n:100\r\n", true, []reply{{ids: 100}, {ids: 100}}},
		{"a refusal", "-UNAVAILABLE wait\r\n:1\r\n", false, []reply{{refused: true}, {ids: 1}}},
		{"a refusal among others", "*2\r\n:1\r\n-ERR no\r\n:1\r\n", false, []reply{{ids: 1, refused: true}, {ids: 1}}},
		{"strings with ends of lines in them", "+OK\r\n$7\r\na\r\n:1\r\n\r\n:1\r\n", false, []reply{{}, {}, {ids: 1}}},
		{"arrays in an array", "*2\r\n*2\r\n:1\r\n*0\r\n*1\r\n$1\r\na\r\n:1\r\n", false, []reply{{ids: 1}, {ids: 1}}},
	} {
		for _, size := range []int{1, 2, 3, 1 << 20} {
			got, err := readAll(c.stream, c.runs, size)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%s, in pieces of %d: %+v, %v; want %+v", c.name, size, got, err, c.want)
			}
		}
	}
}

func TestRepliesRefuse(t *testing.T) {
	for _, c := range []struct {
		stream string
		runs   bool
	}{
		{"\r\n", false}, {":\r\n", false}, {":1\n", false}, {":a\r\n", false}, {":-\r\n", false}, {":99999999999999999999\r\n", false},
		{"$-2\r\n", false}, {"*-2\r\n", false}, {"$536870913\r\n", false}, {"*1048577\r\n", false}, {"HTTP/1.1 200 OK\r\n", false},
		{"*3\r\n:1\r\n:7\r\n:0\r\n", true}, {"*3\r\n:1\r\n:7\r\n:1048577\r\n", true},
		{strings.Repeat("+", longestLine+1), false}, {strings.Repeat("*1048576\r\n", 9), false},
	} {
		for _, size := range []int{1, 1 << 20} {
			if got, err := readAll(c.stream, c.runs, size); !errors.Is(err, errNotRESP) || len(got) != 0 {
				t.Errorf("%.40q in pieces of %d gave %+v, %v", c.stream, size, got, err)
			}
		}
	}
}

func TestRepliesAllocateNothing(t *testing.T) {
	stream := []byte(":7475634785634856\r\n*3\r\n:1\r\n:7475634785634856\r\n:100\r\n")
	r := replies{runs: true}
	if n := testing.AllocsPerRun(100, func() {
		for b := stream; len(b) > 0; {
			rest, _, ok, err := r.parse(b)
			if !ok || err != nil {
				t.Fatal(ok, err)
			}
			b = rest
		}
	}); n != 0 {
		t.Errorf("%v allocations for two replies", n)
	}
}

// FuzzReplies: the same replies, or the same refusal after the same replies, however the stream is
// cut; no count is below 0.
func FuzzReplies(f *testing.F) {
	f.Add(":17\r\n*2\r\n:1\r\n:2\r\n-ERR no\r\n", false, uint8(3))
	f.Add("*3\r\n:1\r\n:7\r\n:100\r\n$3\r\na\r\n\r\n", true, uint8(1))
	f.Fuzz(func(t *testing.T, stream string, runs bool, size uint8) {
		whole, wholeErr := readAll(stream, runs, max(len(stream), 1))
		cut, cutErr := readAll(stream, runs, int(size)+1)
		if !slices.Equal(whole, cut) || (wholeErr == nil) != (cutErr == nil) {
			t.Errorf("whole %v, %v; in pieces of %d %v, %v", whole, wholeErr, int(size)+1, cut, cutErr)
		}
		for _, r := range whole {
			if r.ids < 0 {
				t.Errorf("a reply with %d IDs", r.ids)
			}
		}
	})
}
