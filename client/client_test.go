package client_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/client"
	"github.com/flakeward/flakeward/internal/must"
)

func TestOpenRefuses(t *testing.T) {
	for _, tt := range []struct {
		socket string
		option client.Option
		want   string
	}{
		{"", client.MaxAge(1), "path"},
		{"s", client.MaxAge(-1), "MaxAge"},
		{"s", client.MaxAge(time.Hour + 1), "MaxAge"},
		{"s", client.DialTimeout(0), "DialTimeout"},
		{"s", client.Timeout(-1), "Timeout"},
		{"s", client.LargestRun(0), "LargestRun"},
	} {
		if c, err := client.Open(tt.socket, tt.option); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q: %v, %v, want an error about %s", tt.socket, c, err, tt.want)
		}
	}
}

// Whatever the gaps between calls, and however long the daemon takes: what is handed out was asked
// for at most MaxAge ago, or while the call waited; it was drawn; it rises.
func TestNothingOlderThanMaxAge(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		maxAge := time.Duration(rapid.SampledFrom([]int64{0, 1, 100e3, 5e6, 5e6, 1e9}).Draw(r, "MaxAge"))
		pairs := rapid.Int64Range(1, 3).Draw(r, "pairs")
		step := rapid.SampledFrom([]int64{1, 1024}).Draw(r, "step")
		gaps := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 1000), rapid.Int64Range(0, 1e6), rapid.Int64Range(0, 2e7)), 1, 200).Draw(r, "gaps")
		takes := rapid.SliceOfN(rapid.OneOf(rapid.Just(0), rapid.IntRange(1, 50)), 1, 7).Draw(r, "takes")
		trips := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(0, 1e5), rapid.Int64Range(0, 2e7)), 1, 20).Draw(r, "trips")
		synctest.Test(t, func(t *testing.T) {
			f := newFake(t)
			f.max, f.pairs, f.step = 64, pairs, step
			f.reply = func(a ask) (string, bool) {
				if d := trips[a.number%len(trips)]; d > 0 {
					<-time.After(time.Duration(d))
				}
				return "", true
			}
			c := f.open(client.MaxAge(maxAge))
			last := int64(0)
			for i, gap := range gaps {
				if gap > 0 {
					<-time.After(time.Duration(gap))
				}
				begun := time.Now()
				var ids []int64
				if n := takes[i%len(takes)]; n > 0 {
					runs := must.Get(c.Take(t.Context(), n))(t)
					for _, run := range runs {
						ids = slices.AppendSeq(ids, run.IDs())
					}
					if len(ids) != n {
						t.Fatalf("%d of %d IDs", len(ids), n)
					}
				} else {
					ids = []int64{nextID(t, c)}
				}
				for _, id := range ids {
					asked := f.drawnFor(id)
					if age := time.Since(asked); age > maxAge && asked.Before(begun) {
						t.Fatalf("an ID is %v old, with %v allowed, and was asked for %v before the call", age, maxAge, begun.Sub(asked))
					}
					if id <= last {
						t.Fatalf("%d after %d", id, last)
					}
					last = id
				}
			}
		})
	})
}

// What is asked for follows what is used.
func TestDemand(t *testing.T) {
	for _, tt := range []struct {
		name  string
		every time.Duration
		calls int
		asks  int   // at most
		ids   int64 // at most
	}{
		{"twice", 0, 2, 2, 5},
		{"one a second", time.Second, 100, 100, 100},
		{"one in 100 ms", 100 * time.Millisecond, 100, 100, 100},
		{"one in 5 ms", 5 * time.Millisecond, 100, 100, 101},
		{"one a millisecond", time.Millisecond, 1000, 501, 1010},
		{"ten a millisecond", 100 * time.Microsecond, 10000, 500, 10200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFake(t)
				f.reply = func(ask) (string, bool) { <-time.After(30 * time.Microsecond); return "", true }
				c := f.open()
				for range tt.calls {
					nextID(t, c)
					<-time.After(tt.every)
				}
				asks, ids := f.counts()
				if t.Logf("%d requests for %d IDs, %d used", asks, ids, tt.calls); asks > tt.asks || ids > tt.ids {
					t.Errorf("at most %d requests and %d IDs were expected", tt.asks, tt.ids)
				}
				// Idle: nothing is sent, nobody dials.
				<-time.After(24 * time.Hour)
				if again, _ := f.counts(); again != asks || len(f.dials) != 1 {
					t.Errorf("%d requests and %d dials while nobody asked", again-asks, len(f.dials)-1)
				}
				before := time.Now()
				if id := nextID(t, c); f.drawnFor(id).Before(before) {
					t.Error("an ID from a day ago")
				}
			})
		})
	}
}

// A Take of more than the daemon gives at once is several requests, none too large.
func TestTakeMuch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		f.max, f.pairs, f.step = 100, 3, 64
		c := f.open(client.Tenant(5))
		kept := []client.Run{{First: 1, N: 1, Step: 1}}
		runs, err := c.AppendTake(t.Context(), kept, 1050)
		if err != nil || runs[0] != kept[0] {
			t.Fatal(runs, err)
		}
		var ids []int64
		for _, run := range runs[1:] {
			ids = slices.AppendSeq(ids, run.IDs())
		}
		for _, id := range ids {
			f.drawnFor(id)
		}
		if slices.Sort(ids); len(ids) != 1050 || len(slices.Compact(ids)) != 1050 {
			t.Errorf("%d IDs", len(ids))
		}
		for _, a := range f.asks {
			if a.n > 100 || !slices.Equal(a.words[2:], []string{"TENANT", "5"}) {
				t.Errorf("%q", a.words)
			}
		}
		if runs, err := c.AppendTake(t.Context(), kept, 0); err == nil || len(runs) != 1 {
			t.Errorf("%v, %v for no IDs", runs, err)
		}
	})
}

func TestIterators(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFake(t)
		c := f.open()
		n := 0
		for id, err := range c.IDs(t.Context(), 70) {
			if f.drawnFor(id); err != nil {
				t.Fatal(err)
			}
			n++
		}
		for _, err := range c.All(t.Context()) {
			must.Do(t, err)
			if n++; n == 100 {
				_ = c.Close()
				break
			}
		}
		for id, err := range c.All(t.Context()) {
			if id != 0 || !errors.Is(err, client.ErrClosed) {
				t.Errorf("%d, %v", id, err)
			}
			n++
		}
		for range c.IDs(t.Context(), 0) {
			n++
		}
		if n != 101 {
			t.Errorf("%d rounds", n)
		}
	})
}
