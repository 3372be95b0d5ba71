package pace

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestCheck(t *testing.T) {
	good := Load{Socket: "s", Request: []string{"NEXT"}, Rate: 5, Connections: 1, Length: time.Second}
	if err := good.Check(); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*Load){
		"no socket":           func(l *Load) { l.Socket = "" },
		"no request":          func(l *Load) { l.Request = nil },
		"no rate":             func(l *Load) { l.Rate = 0 },
		"a rate that is none": func(l *Load) { l.Rate = math.NaN() },
		"an endless rate":     func(l *Load) { l.Rate = math.Inf(1) },
		"no connection":       func(l *Load) { l.Connections = 0 },
		"no length":           func(l *Load) { l.Length = 0 },
		"a warm-up below 0":   func(l *Load) { l.Warm = -1 },
		"two hours":           func(l *Load) { l.Length = 2 * time.Hour },
	} {
		l := good
		if spoil(&l); l.Check() == nil {
			t.Errorf("a load with %s is taken", what)
		}
	}
}

// A schedule keeps the rate, never goes back, and uses every connection; the same seed lays down the
// same.
func TestSchedule(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.Float64Range(1, 1e6).Draw(t, "rate")
		connections := rapid.IntRange(1, 60).Draw(t, "connections")
		seed := rapid.Uint64().Draw(t, "seed")
		a, b := newSchedule(rate, connections, seed), newSchedule(rate, connections, seed)
		const requests = 20000
		last, used := int64(0), make([]int, connections)
		for range requests {
			at, on := a.next()
			if again, same := b.next(); at != again || on != same {
				t.Fatalf("%d on %d, and again %d on %d", at, on, again, same)
			}
			if at < last {
				t.Fatalf("%d after %d", at, last)
			}
			last = at
			used[on]++
		}
		// The sum of n exponentially distributed times has the standard deviation sqrt(n): this is
		// 8 of them.
		if mean := float64(last) / requests * rate / float64(time.Second); math.Abs(mean-1) > 8/math.Sqrt(requests) {
			t.Errorf("%v requests for each that was to be sent", 1/mean)
		}
		if fewest := slices.Min(used); fewest < requests/connections/2 {
			t.Errorf("a connection got %d of %d requests over %d", fewest, requests, connections)
		}
	})
}

// In a Poisson process a share of 1-1/e of the gaps is below their mean, and 1-1/e^3 below three
// times it.
func TestPoisson(t *testing.T) {
	s := newSchedule(1000, 1, 1)
	const requests, gap = 100000, int64(time.Millisecond)
	below, below3, last := 0.0, 0.0, int64(0)
	for range requests {
		at, _ := s.next()
		if at-last < gap {
			below++
		}
		if at-last < 3*gap {
			below3++
		}
		last = at
	}
	if p := below / requests; math.Abs(p-(1-math.Exp(-1))) > 0.01 {
		t.Errorf("%v of the gaps are below their mean", p)
	}
	if p := below3 / requests; math.Abs(p-(1-math.Exp(-3))) > 0.01 {
		t.Errorf("%v of the gaps are below three times their mean", p)
	}
}

// due is a queue, whatever is put in and taken out.
func TestDue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var d due
		var model []int64
		for i, steps := int64(0), rapid.SliceOf(rapid.Bool()).Draw(t, "steps"); i < int64(len(steps)); i++ {
			for range rapid.IntRange(1, 100).Draw(t, "times") {
				if steps[i] {
					d.push(i)
					model = append(model, i)
				} else if len(model) > 0 {
					if got := d.pop(); got != model[0] {
						t.Fatalf("took %d, want %d", got, model[0])
					}
					model = model[1:]
				}
			}
			if d.len() != len(model) {
				t.Fatalf("holds %d, want %d", d.len(), len(model))
			}
		}
	})
}

func TestSpread(t *testing.T) {
	h := newHistogram()
	for i := range int64(100000) {
		record(h, (i+1)*1000)
	}
	s := spread(h)
	for _, c := range []struct {
		name string
		got  time.Duration
		want time.Duration
	}{
		{"p50", s.P50, 50 * time.Millisecond}, {"p99", s.P99, 99 * time.Millisecond},
		{"p99.9", s.P999, 99900 * time.Microsecond}, {"p99.99", s.P9999, 99990 * time.Microsecond}, {"max", s.Max, 100 * time.Millisecond},
	} {
		if c.got < c.want || c.got > c.want+c.want/1000 {
			t.Errorf("%s is %v, want %v and at most a thousandth more", c.name, c.got, c.want)
		}
	}
	if s.Count != 100000 {
		t.Errorf("%d values", s.Count)
	}
	if s := spread(newHistogram()); s.Count != 0 || s.Max != 0 {
		t.Errorf("nothing is %+v", s)
	}
	h = newHistogram()
	record(h, -5)
	record(h, math.MaxInt64)
	if s := spread(h); s.Count != 2 || s.P50 != 0 || s.Max < 2*time.Hour {
		t.Errorf("values out of the range are %+v", s)
	}
}

// The same replies come of a stream, however it is cut.
func TestReplies(t *testing.T) {
	const stream = ":17\r\n-UNAVAILABLE wait\r\n:9223372036854775807\r\n:1"
	for size := 1; size <= len(stream); size++ {
		var r replies
		var got []bool
		for left := []byte(stream); len(left) > 0; {
			piece := left[:min(size, len(left))]
			left = left[len(piece):]
			for {
				rest, ok, err := r.next(piece)
				if err != nil {
					t.Fatal(err)
				}
				if !ok {
					break
				}
				got, piece = append(got, r.refused), rest
			}
		}
		if !slices.Equal(got, []bool{false, true, false}) || !r.within {
			t.Errorf("in pieces of %d: %v", size, got)
		}
	}
	for _, other := range []string{"$1\r\na\r\n", "*0\r\n", "\r\n", "HTTP/1.1 200 OK\r\n"} {
		if _, ok, err := new(replies).next([]byte(other)); ok || !errors.Is(err, errNotRESP) {
			t.Errorf("%q is a reply: %v", other, err)
		}
	}
}
