package linear

import (
	"slices"
	"testing"
	"time"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// The operations of the tables, on worker ID 0. A table's follow each other, unless they
// say when they are.

func opened(by string, floor generator.Tick) Op {
	return Op{Kind: Open, Opening: by, Floor: floor}
}

func extended(by string, to generator.Tick) Op {
	return Op{Kind: Extend, Opening: by, Progress: coord.Progress{Ceiling: to, Issued: to / 10}}
}

func released(by string, last generator.Tick) Op {
	return Op{Kind: Release, Opening: by, To: last}
}

func ended(by string) Op { return Op{Kind: End, Opening: by} }

func read(ceiling, issued generator.Tick, holder string) Op {
	return Op{Kind: Read, Found: history.Version{Ceiling: ceiling, Issued: issued, Holder: holder}}
}

func lost(o Op) Op {
	o.Outcome = Lost
	return o
}

func unknown(o Op) Op {
	o.Outcome = Unknown
	if o.Kind == Open {
		o.Opening = Unseen + o.Opening
	}
	return o
}

func frail(o Op) Op {
	o.Mortal = true
	return o
}

// at is from call to return, in the steps of the table.
func at(call, returned int64, o Op) Op {
	o.Call, o.Return = 10*call, 10*returned
	return o
}

// onward gives each operation that does not say when it is its place in the order.
func onward(ops []Op) []Op {
	ops = slices.Clone(ops)
	for i := range ops {
		if ops[i].Return == 0 {
			ops[i].Call, ops[i].Return = 10*int64(i+1), 10*int64(i+1)+5
		}
	}
	return ops
}

// Each wrong history differs from a right one in one thing.
func TestWhatIsRight(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name         string
		floor        generator.Tick
		before       []Op
		right, wrong Op
		after        []Op
	}{
		{
			name:   "an Extend that is acknowledged after another's opening",
			before: []Op{opened("a", 0), extended("a", 100), ended("a"), opened("b", 100)},
			right:  lost(extended("a", 200)), wrong: extended("a", 200),
		}, {
			name:   "an Extend that is acknowledged after its claim's end, and not stored",
			before: []Op{opened("a", 0), ended("a"), extended("a", 200)},
			right:  read(200, 20, "a"), wrong: read(0, 0, "a"),
		}, {
			name:   "an Extend that was stored, and met another's node, is forgotten",
			before: []Op{opened("a", 0), ended("a"), lost(extended("a", 200)), read(200, 20, "a")},
			right:  opened("b", 200), wrong: opened("b", 0),
		}, {
			name:   "an Extend that is acknowledged after a loss, which its claim's end was the reason of",
			before: []Op{opened("a", 0), ended("a"), lost(extended("a", 200))},
			right:  opened("b", 200), wrong: extended("a", 200),
		}, {
			name:   "a claim that is made again bars nobody for good",
			before: []Op{opened("a", 0), ended("a"), extended("a", 200)},
			right:  opened("b", 200), wrong: opened("b", 0),
		}, {
			name:   "a Release that is acknowledged after its claim's end",
			before: []Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  released("a", 60), wrong: released("a", 50),
			after: []Op{opened("b", 60)},
		}, {
			name:   "an Extend that is acknowledged after a loss",
			before: []Op{frail(opened("a", 0)), lost(extended("a", 100))},
			right:  lost(extended("a", 200)), wrong: extended("a", 200),
		}, {
			name:   "a loss without a reason",
			before: []Op{opened("a", 0), extended("a", 100)},
			right:  extended("a", 200), wrong: lost(extended("a", 200)),
		}, {
			name:   "a Release that is lost without a reason",
			before: []Op{opened("a", 0), extended("a", 100)},
			right:  released("a", 50), wrong: lost(released("a", 50)),
		}, {
			name:   "a floor below a ceiling that was acknowledged",
			before: []Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  opened("b", 100), wrong: opened("b", 99),
		}, {
			name:   "a floor above all that was asked for",
			before: []Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  opened("b", 100), wrong: opened("b", 101),
		}, {
			name: "a floor below the cluster's", floor: 150,
			before: []Op{},
			right:  opened("a", 150), wrong: opened("a", 149),
		}, {
			name: "a floor below the cluster's, at the record's ceiling", floor: 50,
			before: []Op{opened("a", 50), extended("a", 100), released("a", 20)},
			right:  opened("b", 50), wrong: opened("b", 20),
		}, {
			name:   "an Extend to less than the ceiling lowers it",
			before: []Op{opened("a", 0), extended("a", 100), extended("a", 40), ended("a")},
			right:  opened("b", 100), wrong: opened("b", 40),
		}, {
			name:   "two holders",
			before: []Op{opened("a", 0), extended("a", 100)},
			right:  extended("a", 100), wrong: opened("b", 100),
		}, {
			name:   "two holders, of whom the first goes on",
			before: []Op{frail(opened("a", 0)), opened("b", 0)},
			right:  extended("b", 10), wrong: extended("a", 10),
		}, {
			name:   "a Release lowers below the floor of its grants",
			before: []Op{opened("a", 0), extended("a", 100), ended("a"), opened("b", 100), extended("b", 200), released("b", 30)},
			right:  opened("c", 100), wrong: opened("c", 30),
		}, {
			name:   "a Release lowers below what was published as issued",
			before: []Op{opened("a", 0), extended("a", 100), released("a", 3)},
			right:  opened("b", 10), wrong: opened("b", 3),
		}, {
			name:   "a Release lowers the next holder's ceiling",
			before: []Op{opened("a", 0), extended("a", 100), ended("a"), opened("b", 100), extended("b", 200)},
			right:  lost(released("a", 100)), wrong: released("a", 100),
		}, {
			name:   "a late Release lowers the next holder's ceiling",
			before: []Op{opened("a", 0), extended("a", 100), unknown(released("a", 60)), ended("a"), opened("b", 100), extended("b", 200)},
			right:  read(200, 20, "b"), wrong: read(60, 60, "a"),
		}, {
			name:   "a Release leaves its claim",
			before: []Op{opened("a", 0), extended("a", 100), released("a", 60)},
			right:  lost(extended("a", 70)), wrong: extended("a", 70),
		}, {
			name:   "a Release of unknown outcome, made again, is stored twice",
			before: []Op{opened("a", 0), extended("a", 100), unknown(released("a", 60))},
			right:  released("a", 60), wrong: released("a", 70),
			after: []Op{opened("b", 60)},
		}, {
			name:   "a claim comes back whose node may have been deleted",
			before: []Op{opened("a", 0), unknown(ended("a")), lost(extended("a", 100))},
			right:  opened("b", 0), wrong: extended("a", 200),
		}, {
			name:   "a claim's node is deleted later than others wrote, and something else with it",
			before: []Op{opened("a", 0), unknown(ended("a")), extended("a", 100)},
			right:  opened("b", 100), wrong: opened("b", 0),
		}, {
			name:   "a Release that was stored is lost, and nobody has opened the record since",
			before: []Op{opened("a", 0), extended("a", 100), unknown(released("a", 60)), read(60, 60, "a")},
			right:  released("a", 60), wrong: lost(released("a", 60)),
		}, {
			name:   "a Release that is lost, and was stored by its first try, lowers too far",
			before: []Op{opened("a", 0), extended("a", 100), at(3, 5, lost(released("a", 60)))},
			right:  at(4, 4, opened("b", 60)), wrong: at(4, 4, opened("b", 59)),
		}, {
			name:   "a Release answers twice that it is done",
			before: []Op{opened("a", 0), extended("a", 100), released("a", 60)},
			right:  lost(released("a", 60)), wrong: released("a", 60),
		}, {
			name:   "an Extend of unknown outcome lowers",
			before: []Op{opened("a", 0), extended("a", 100), unknown(extended("a", 200)), ended("a")},
			right:  opened("b", 200), wrong: opened("b", 150),
		}, {
			name:   "an Extend of unknown outcome lands after a later one",
			before: []Op{opened("a", 0), unknown(extended("a", 200)), extended("a", 100), read(100, 10, "a")},
			right:  read(100, 10, "a"), wrong: read(200, 20, "a"),
		}, {
			name:   "an Extend of unknown outcome lands after its loss was known",
			before: []Op{frail(opened("a", 0)), unknown(extended("a", 200)), lost(extended("a", 100)), read(0, 0, "a")},
			right:  opened("b", 0), wrong: opened("b", 200),
		}, {
			name:   "an Extend of unknown outcome lands after its claim's end, and is another one",
			before: []Op{opened("a", 0), unknown(extended("a", 200)), ended("a"), read(0, 0, "a")},
			right:  opened("b", 200), wrong: opened("b", 100),
		}, {
			name:   "an Extend of unknown outcome lands after its claim's end and another's opening",
			before: []Op{opened("a", 0), unknown(extended("a", 200)), ended("a"), opened("b", 0)},
			right:  read(0, 0, "b"), wrong: read(200, 20, "b"),
		}, {
			name:   "an opening of unknown outcome lands after another's",
			before: []Op{unknown(opened("a", 0)), opened("b", 0), extended("b", 10)},
			right:  extended("b", 20), wrong: lost(extended("b", 20)),
		}, {
			name:   "what is read is out of date",
			before: []Op{opened("a", 0), extended("a", 100), extended("a", 200)},
			right:  read(200, 20, "a"), wrong: read(100, 10, "a"),
		}, {
			name:   "what is read was never so",
			before: []Op{opened("a", 0), extended("a", 100), extended("a", 200)},
			right:  read(200, 20, "a"), wrong: read(200, 10, "a"),
		}, {
			name:   "what is read has another ceiling",
			before: []Op{opened("a", 0), extended("a", 100), extended("a", 105)},
			right:  read(105, 10, "a"), wrong: read(100, 10, "a"),
		}, {
			name:   "a record vanishes",
			before: []Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  read(100, 10, "a"), wrong: read(0, 0, ""),
		}, {
			name:   "an effect before its call",
			before: []Op{opened("a", 0), at(3, 9, extended("a", 100))},
			right:  at(4, 5, read(100, 10, "a")), wrong: at(2, 2, read(100, 10, "a")),
		},
	} {
		check := func(o Op) []Verdict {
			return Check(onward(slices.Concat(test.before, []Op{o}, test.after)), test.floor, time.Minute)
		}
		if v := check(test.right); len(v) > 0 {
			t.Errorf("%s: the right one, %v, is refused: %v", test.name, test.right, v)
		}
		if v := check(test.wrong); len(v) != 1 || v[0].Undecided || len(v[0].Until) == 0 {
			t.Errorf("%s: the wrong one, %v: %v", test.name, test.wrong, v)
		}
	}
}

// What is told of a wrong history ends where it went wrong.
func TestShortest(t *testing.T) {
	t.Parallel()
	all := onward([]Op{
		opened("a", 0), extended("a", 100), ended("a"), opened("b", 50), extended("b", 200), ended("b"), opened("c", 200), extended("c", 300),
	})
	for i := range all { // of two worker IDs
		other := all[i]
		other.Worker, other.Floor, other.Opening = 1, other.Floor+100*generator.Tick(min(i/3, 1)), other.Opening+"1"
		if i == 3 {
			other.Floor = 100
		}
		if i == 6 {
			other.Floor = 200
		}
		all = append(all, other)
	}
	v := Check(all, 0, time.Minute)
	if len(v) != 1 || v[0].Worker != 0 || len(v[0].Until) != 4 || v[0].Until[3].Opening != "b" {
		t.Errorf("%v; want worker ID 0 alone, and it to end with the opening b", v)
	}
}
