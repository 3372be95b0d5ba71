package claims

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/generator"
)

// Where a record is opened: in the first free interval that has a window left, and by a leap where
// that begins more than a window before the time.
func TestPlace(t *testing.T) {
	const window = 10
	r := record{Ceiling: 1000, Gaps: []gap{{20, 50}, {100, 900}}}
	for _, test := range []struct {
		name string
		at   generator.Tick
		want vacancy
	}{
		{"no time: the lowest", 0, vacancy{20, 50, 20}},
		{"before all", 5, vacancy{20, 50, 20}},
		{"a window above the beginning", 31, vacancy{20, 50, 20}},
		{"one more: a leap", 32, vacancy{20, 50, 31}},
		{"a window left", 40, vacancy{20, 50, 39}},
		{"one less: the next", 41, vacancy{100, 900, 100}},
		{"a leap in the next", 400, vacancy{100, 900, 399}},
		{"a window left in the last", 890, vacancy{100, 900, 889}},
		{"one less: above the ceiling", 891, vacancy{1000, 0, 1000}},
		{"a window above the ceiling", 1011, vacancy{1000, 0, 1000}},
		{"one more: a leap above the ceiling", 1012, vacancy{1000, 0, 1011}},
	} {
		if got := r.vacancy(test.at, window); got != test.want {
			t.Errorf("%s, at %d: %+v, want %+v", test.name, test.at, got, test.want)
		}
	}
	if got, want := (record{Ceiling: 5}).vacancy(8, 0), (vacancy{5, 0, 7}); got != want {
		t.Errorf("with no window: %+v, want %+v", got, want)
	}
	if got, want := (record{}).vacancy(500, 10), (vacancy{0, 0, 499}); got != want {
		t.Errorf("without a record: %+v, want %+v", got, want)
	}
}

// One record's life: a leap years ahead, back in the gap, to its end, and released.
func TestGapsOfOneRecord(t *testing.T) {
	check := func(what string, got record, ceiling, until, granted generator.Tick, gaps ...gap) {
		t.Helper()
		want := record{Ceiling: ceiling, Until: until, Gaps: gaps}
		if !reflect.DeepEqual(got, want) || got.granted() != granted {
			t.Errorf("%s: %+v, granted to %d; want %+v, %d", what, got, got.granted(), want, granted)
		}
	}
	r := record{Ceiling: 100}
	r = r.openedAt(r.vacancy(5000, 10))
	check("a leap", r, 4999, 0, 4999, gap{100, 4999})
	check("nothing granted in it: given back whole", r.lowered(4999), 100, 0, 100)
	r = r.extended(5010)
	check("extended", r, 5010, 0, 5010, gap{100, 4999})
	check("given back above the gap", r.lowered(5002), 5002, 0, 5002, gap{100, 4999})
	r = r.openedAt(r.vacancy(105, 10))
	check("back, in the gap", r, 5010, 4999, 100, gap{100, 4999})
	r = r.extended(115)
	check("the gap's beginning moves", r, 5010, 4999, 115, gap{115, 4999})
	check("given back", r.lowered(107), 5010, 4999, 107, gap{107, 4999})
	r = r.openedAt(r.vacancy(300, 10))
	check("a leap in the gap", r, 5010, 4999, 299, gap{115, 299}, gap{299, 4999})
	check("nothing granted after it: one gap again", r.lowered(299), 5010, 4999, 115, gap{115, 4999})
	r = r.extended(9999)
	check("not past the end", r, 5010, 4999, 4999, gap{115, 299})
	check("given back what was used up", r.lowered(4000), 5010, 4999, 4000, gap{115, 299}, gap{4000, 4999})
	check("raised into a gap", r.raisedTo(200), 5010, 4999, 4999, gap{200, 299})
	check("raised above all", r.raisedTo(6000), 6000, 4999, 4999)
}

// The widest gaps are kept, and always the one that the opening is in.
func TestWidestGapsAreKept(t *testing.T) {
	r := record{Ceiling: 10}
	for _, at := range []generator.Tick{100, 250, 500, 900, 999} {
		r = r.openedAt(r.vacancy(at, 0)).extended(at + 10)
	}
	if want := []gap{{10, 99}, {110, 249}, {260, 499}, {510, 899}}; !reflect.DeepEqual(r.Gaps, want) {
		t.Errorf("%+v, want %+v", r.Gaps, want)
	}
	r = r.openedAt(r.vacancy(97, 2)) // a leap that leaves {10,96}, and all others are wider than {96,99}
	if want := []gap{{96, 99}, {110, 249}, {260, 499}, {510, 899}}; !reflect.DeepEqual(r.Gaps, want) || r.Until != 99 {
		t.Errorf("%+v, want %+v", r, want)
	}
}

// Whatever is done to it, a record is one that can be read again.
func TestRecordsWithGapsAreReadAgain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tick := func(name string) generator.Tick { return generator.Tick(rapid.Int64Range(0, 50).Draw(t, name)) }
		r := record{Holder: "A", Nonce: "n"}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			switch rapid.IntRange(0, 3).Draw(t, "step") {
			case 0:
				r = r.openedAt(r.vacancy(tick("at"), tick("window")/5))
			case 1:
				r = r.extended(tick("to"))
			case 2:
				r = r.lowered(max(r.granted(), tick("to")))
			default:
				r = r.raisedTo(tick("floor"))
			}
			if again, err := decodeRecord(encode(r)); err != nil || !reflect.DeepEqual(again, r) {
				t.Fatalf("%+v encodes to %+v, %v", r, again, err)
			}
		}
	})
}
