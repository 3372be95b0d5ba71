package evidence

import (
	"fmt"
	"path/filepath"
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
)

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

var runs = rapid.Custom(func(t *rapid.T) Run {
	return Run{
		First: rapid.Int64().Draw(t, "first"),
		Step:  rapid.OneOf(rapid.Just[int64](1), rapid.Int64Min(1)).Draw(t, "step"),
		N:     rapid.OneOf(rapid.Just(1), rapid.IntRange(1, 100000), rapid.IntMin(1)).Draw(t, "n"),
	}
})

var events = rapid.Custom(func(t *rapid.T) Event {
	e := Event{At: Mono(rapid.Int64().Draw(t, "at")), Kind: Kind(rapid.Uint8Range(uint8(Began), uint8(Failed)).Draw(t, "kind"))}
	tick := func(name string) generator.Tick { return generator.Tick(rapid.Int64().Draw(t, name)) }
	switch e.Kind {
	case Began:
		e.Host, e.Incarnation, e.Layout = rapid.String().Draw(t, "host"), rapid.String().Draw(t, "incarnation"), rapid.String().Draw(t, "layout")
		return e
	case Issued:
		e.Run = runs.Draw(t, "run")
		return e
	case Claimed, Claiming:
	case Failed:
		e.Ending = Ending(rapid.Uint8Range(uint8(Unclear), uint8(Denied)).Draw(t, "ending"))
	}
	for i, named := range e.ticks() {
		*named = tick(fmt.Sprint("tick ", i))
	}
	e.Call = rapid.Uint64().Draw(t, "call")
	e.Worker, e.Opening = rapid.IntMin(0).Draw(t, "worker"), rapid.String().Draw(t, "opening")
	return e
})

var replies = rapid.Custom(func(t *rapid.T) Reply {
	r := Reply{
		Connection: rapid.Uint32().Draw(t, "connection"),
		Asking:     Asking(rapid.Uint8Range(uint8(Single), uint8(InRuns)).Draw(t, "asking")),
		Asked:      Mono(rapid.Int64().Draw(t, "asked")),
		Answered:   Mono(rapid.Int64().Draw(t, "answered")),
		Outcome:    Outcome(rapid.Uint8Range(uint8(Got), uint8(Unsent)).Draw(t, "outcome")),
		IDs:        rapid.SliceOfN(runs, 0, 5).Draw(t, "ids"),
		Text:       rapid.String().Draw(t, "text"),
	}
	if len(r.IDs) == 0 {
		r.IDs = nil
	}
	return r
})

// comeBack checks that entries are read as they were written.
func comeBack[E any](t *testing.T, entries *rapid.Generator[E], open opening[E], read func(path string, f func(E) error) error) {
	dir, n := t.TempDir(), 0
	rapid.Check(t, func(rt *rapid.T) {
		want := rapid.SliceOfN(entries, 1, 50).Draw(rt, "entries")
		n++
		path := filepath.Join(dir, fmt.Sprint(n))
		add, done := open(t, path)
		for _, e := range want {
			must(t, add(e))
		}
		must(t, done())
		var got []E
		must(t, read(path, func(e E) error { got = append(got, e); return nil }))
		if !reflect.DeepEqual(got, want) {
			rt.Fatalf("read %+v, wrote %+v", got, want)
		}
	})
}

func TestEventsComeBackAsTheyWere(t *testing.T) { comeBack(t, events, openEvents, ReadEvents) }

func TestRepliesComeBackAsTheyWere(t *testing.T) { comeBack(t, replies, openReplies, ReadReplies) }
