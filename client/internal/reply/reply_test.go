package reply_test

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/flakeward/flakeward/client/internal/reply"
	"github.com/flakeward/flakeward/daemon/issue"
)

func TestReplies(t *testing.T) {
	r := reply.NewReader(strings.NewReader("*3\r\n:1\r\n:7\r\n:3\r\n-UNAVAILABLE wait\r\n*5\r\n:64\r\n:0\r\n:1\r\n:9223372036854775743\r\n:2\r\n$5\r\na\r\nb:\r\n$0\r\n\r\n"))
	pairs, step, err := r.Runs([]reply.Pair{{First: 1, N: 1}}, 3)
	if !slices.Equal(pairs, []reply.Pair{{First: 1, N: 1}, {First: 7, N: 3}}) || step != 1 || err != nil {
		t.Errorf("%v, %d, %v", pairs, step, err)
	}
	var refusal reply.Refusal
	if pairs, _, err := r.Runs(pairs, 3); !errors.As(err, &refusal) || refusal != "UNAVAILABLE wait" || len(pairs) != 2 {
		t.Errorf("%v, %v", pairs, err)
	}
	pairs, step, err = r.Runs(nil, 3)
	if !slices.Equal(pairs, []reply.Pair{{First: 0, N: 1}, {First: math.MaxInt64 - 64, N: 2}}) || step != 64 || err != nil {
		t.Errorf("%v, %d, %v", pairs, step, err)
	}
	for _, want := range []string{"a\r\nb:", ""} {
		if text, err := r.Bulk(); text != want || err != nil {
			t.Errorf("%q, %v, want %q", text, err, want)
		}
	}
	if _, err := r.Bulk(); err != io.EOF {
		t.Errorf("%v at the end", err)
	}
}

func TestBrokenReplies(t *testing.T) {
	const ok = "*3\r\n:1\r\n:7\r\n:3\r\n"
	for cut := 1; cut < len(ok); cut++ {
		pairs, _, err := reply.NewReader(strings.NewReader(ok[:cut])).Runs([]reply.Pair{{First: 1, N: 1}}, 3)
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
		if pairs, _, err := reply.NewReader(strings.NewReader(in)).Runs(nil, 3); !errors.Is(err, reply.ErrFrame) || pairs != nil {
			t.Errorf("%.40q: %v, %v", in, pairs, err)
		}
	}
	for in, want := range map[string]error{"$3\r\nab": io.ErrUnexpectedEOF, "$1\r\nabc\r\n": reply.ErrFrame, "$-1\r\n": reply.ErrFrame, "$9999999\r\n": reply.ErrFrame} {
		if _, err := reply.NewReader(strings.NewReader(in)).Bulk(); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", in, err, want)
		}
	}
}

func TestMaxCount(t *testing.T) {
	for info, want := range map[string]int64{
		"# Server\r\nhost:h\r\nmax_count:65536\r\nuptime:1\r\n": 65536, "max_count:7": 7, "max_count:0\r\n": 0, "max_count:-3\r\n": 0,
		"max_count:99999999999\r\n": 0, "redis_version:7.0\r\n": 0, "": 0, "xmax_count:5\r\n": 0,
	} {
		if got := reply.MaxCount(info); got != want {
			t.Errorf("%q: %d, want %d", info, got, want)
		}
	}
}

// The text is the one that the daemon makes.
func TestUnavailable(t *testing.T) {
	for _, e := range []issue.UnavailableError{
		{Reason: errors.New("the clock is behind; gave up after all, another day")},
		{Reason: errors.New("no worker"), After: 2 * time.Second},
		{Reason: errors.New("no worker"), For: 5 * time.Millisecond},
		{Reason: errors.New("no worker, another"), After: 1500 * time.Millisecond, For: time.Hour},
	} {
		reason, after, another := reply.Unavailable(e.Error())
		if reason != e.Reason.Error() || after != e.After || another != e.For {
			t.Errorf("%q is taken for %q, %v, %v", e.Error(), reason, after, another)
		}
	}
	if reason, after, another := reply.Unavailable("nothing; gave up after 2s"); reason != "nothing; gave up after 2s" || after != 0 || another != 0 {
		t.Errorf("%q, %v, %v", reason, after, another)
	}
}

func FuzzReader(f *testing.F) {
	f.Add("*3\r\n:1\r\n:7\r\n:3\r\n$1\r\na\r\n-ERR no\r\n", int64(5))
	f.Add("*5\r\n:64\r\n:0\r\n:1\r\n:9223372036854775743\r\n:2\r\n$13\r\nmax_count:7\r\n\r\n", int64(3))
	f.Fuzz(func(t *testing.T, in string, most int64) {
		whole := all(t, strings.NewReader(in), most)
		if pieces := all(t, iotest.OneByteReader(strings.NewReader(in)), most); whole != pieces {
			t.Errorf("%q reads as\n%sand byte by byte as\n%s", in, whole, pieces)
		}
	})
}

// all is what comes of everything in in, asked for as RUN and INFO in turn.
func all(t *testing.T, in io.Reader, most int64) string {
	r := reply.NewReader(in)
	var said strings.Builder
	for {
		pairs, step, err := r.Runs(nil, most)
		fmt.Fprintln(&said, pairs, step, err)
		var refusal reply.Refusal
		if err != nil && !errors.As(err, &refusal) {
			known(t, err)
			return said.String()
		}
		if err == nil {
			rewrite(t, pairs, step, most)
		}
		text, err := r.Bulk()
		fmt.Fprintf(&said, "%q %v %d\n", text, err, reply.MaxCount(text))
		if err != nil && !errors.As(err, &refusal) {
			known(t, err)
			return said.String()
		}
	}
}

func known(t *testing.T, err error) {
	if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.Is(err, reply.ErrFrame) {
		t.Errorf("unexpected error %v", err)
	}
}

// rewrite holds what was accepted to its bounds, and reads it again.
func rewrite(t *testing.T, pairs []reply.Pair, step, most int64) {
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
	again, same, err := reply.NewReader(strings.NewReader(string(b))).Runs(nil, most)
	if !slices.Equal(pairs, again) || step != same || err != nil {
		t.Errorf("%v, %d, written anew: %v, %d, %v", pairs, step, again, same, err)
	}
}

func FuzzUnavailable(f *testing.F) {
	f.Add("no worker; gave up after 2s, another 5ms would have been needed; try again later")
	f.Add("x; gave up after 2s; try again later")
	f.Fuzz(func(t *testing.T, text string) {
		reason, after, another := reply.Unavailable(text)
		if !strings.HasPrefix(text, reason) || after < 0 || another < 0 {
			t.Errorf("%q is taken for %q, %v, %v", text, reason, after, another)
		}
	})
}
