package linear_test

import (
	"slices"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/linear"
	"github.com/flakeward/flakeward/generator"
)

// The operations of the tables, on worker ID 0. A table's follow each other, unless they
// say when they are.

func opened(by string, floor generator.Tick) linear.Op {
	return linear.Op{Kind: linear.Open, Opening: by, Floor: floor}
}

func continued(by, from string, mark, floor generator.Tick) linear.Op {
	return linear.Op{Kind: linear.Open, Opening: by, From: from, FromMark: mark, Continues: true, Floor: floor}
}

func extended(by string, to generator.Tick) linear.Op {
	return linear.Op{Kind: linear.Extend, Opening: by, Progress: coord.Progress{Ceiling: to, Issued: to / 10, Mark: to / 2}}
}

func released(by string, last generator.Tick) linear.Op {
	return linear.Op{Kind: linear.Release, Opening: by, To: last}
}

func ended(by string) linear.Op { return linear.Op{Kind: linear.End, Opening: by} }

func raised(epoch string, before, to generator.Tick) linear.Op {
	return linear.Op{Kind: linear.Raise, ClusterEpoch: epoch, Before: before, To: to}
}

func read(ceiling, issued, mark generator.Tick, holder string) linear.Op {
	return linear.Op{Kind: linear.Read, Found: coord.Mark{Ceiling: ceiling, Issued: issued, Mark: mark, Holder: holder}}
}

func lost(o linear.Op) linear.Op {
	o.Outcome = linear.Lost
	return o
}

func unknown(o linear.Op) linear.Op {
	o.Outcome = linear.Unknown
	if o.Kind == linear.Open {
		o.Opening = linear.Unseen + o.Opening
	}
	return o
}

func mortal(o linear.Op) linear.Op {
	o.Mortal = true
	return o
}

// at is from call to return, in the steps of the table.
func at(call, returned int64, o linear.Op) linear.Op {
	o.Call, o.Return = 10*call, 10*returned
	return o
}

// onward gives each operation that does not say when it is its place in the order.
func onward(ops []linear.Op) []linear.Op {
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
		before       []linear.Op
		right, wrong linear.Op
		after        []linear.Op
	}{
		{
			name:   "an Extend that is acknowledged after another's opening",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a"), opened("b", 100)},
			right:  lost(extended("a", 200)), wrong: extended("a", 200),
		}, {
			name:   "an Extend that is acknowledged after its claim's end",
			before: []linear.Op{opened("a", 0), ended("a")},
			right:  lost(extended("a", 200)), wrong: extended("a", 200),
		}, {
			name:   "an Extend that is acknowledged after a raise",
			before: []linear.Op{opened("a", 0), raised("1", 0, 50)},
			right:  lost(extended("a", 200)), wrong: extended("a", 200),
		}, {
			name:   "an Extend that is acknowledged after a loss",
			before: []linear.Op{mortal(opened("a", 0)), lost(extended("a", 100))},
			right:  lost(extended("a", 200)), wrong: extended("a", 200),
		}, {
			name:   "a loss without a reason",
			before: []linear.Op{opened("a", 0), extended("a", 100)},
			right:  extended("a", 200), wrong: lost(extended("a", 200)),
		}, {
			name:   "a Release that is lost without a reason",
			before: []linear.Op{opened("a", 0), extended("a", 100)},
			right:  released("a", 50), wrong: lost(released("a", 50)),
		}, {
			name:   "a floor below a ceiling that was acknowledged",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  opened("b", 100), wrong: opened("b", 99),
		}, {
			name:   "a floor above all that was asked for",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  opened("b", 100), wrong: opened("b", 101),
		}, {
			name:   "a floor below what all were raised to",
			before: []linear.Op{opened("a", 0), extended("a", 100), raised("1", 0, 150)},
			right:  opened("b", 150), wrong: opened("b", 100),
		}, {
			name:   "an Extend to less than the ceiling lowers it",
			before: []linear.Op{opened("a", 0), extended("a", 100), extended("a", 40), ended("a")},
			right:  opened("b", 100), wrong: opened("b", 40),
		}, {
			name:   "two holders",
			before: []linear.Op{opened("a", 0), extended("a", 100)},
			right:  extended("a", 100), wrong: opened("b", 100),
		}, {
			name:   "two holders, of whom the first goes on",
			before: []linear.Op{mortal(opened("a", 0)), opened("b", 0)},
			right:  extended("b", 10), wrong: extended("a", 10),
		}, {
			name:   "an opening continues after another's",
			before: []linear.Op{opened("a", 0), ended("a"), opened("b", 0), ended("b")},
			right:  continued("c", "b", 0, 0), wrong: continued("c", "a", 0, 0),
		}, {
			name:   "an opening continues after another's that nobody was told of",
			before: []linear.Op{opened("a", 0), ended("a"), at(3, 3, unknown(opened("b", 0))), read(0, 0, 0, "x")},
			right:  opened("c", 0), wrong: continued("c", "a", 0, 0),
		}, {
			name:   "an opening continues with an old copy of the journal",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  continued("b", "a", 50, 100), wrong: continued("b", "a", 49, 100),
		}, {
			name:   "an opening continues over a raise",
			before: []linear.Op{opened("a", 0), extended("a", 100), raised("1", 0, 10)},
			right:  opened("b", 100), wrong: continued("b", "a", 50, 100),
		}, {
			name:   "an opening does not continue though it may",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  continued("b", "a", 50, 100),
			wrong:  linear.Op{Kind: linear.Open, Opening: "b", From: "a", FromMark: 50, Floor: 100},
		}, {
			name:   "a Release lowers below the floor of its grants",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a"), opened("b", 100), extended("b", 200), released("b", 30)},
			right:  opened("c", 100), wrong: opened("c", 30),
		}, {
			name:   "a Release lowers below what was published as issued",
			before: []linear.Op{opened("a", 0), extended("a", 100), released("a", 3)},
			right:  opened("b", 10), wrong: opened("b", 3),
		}, {
			name:   "a Release lowers the next holder's ceiling",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a"), opened("b", 100), extended("b", 200)},
			right:  lost(released("a", 100)), wrong: released("a", 100),
		}, {
			name:   "a late Release lowers the next holder's ceiling",
			before: []linear.Op{opened("a", 0), extended("a", 100), unknown(released("a", 60)), ended("a"), opened("b", 100), extended("b", 200)},
			right:  read(200, 20, 100, "b"), wrong: read(60, 60, 60, "a"),
		}, {
			name:   "a Release leaves its claim",
			before: []linear.Op{opened("a", 0), extended("a", 100), released("a", 60)},
			right:  lost(extended("a", 70)), wrong: extended("a", 70),
		}, {
			name:   "a Release that continues gives back what it continued",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a"), continued("b", "a", 55, 100), released("b", 60)},
			right:  continued("c", "b", 60, 60), wrong: continued("c", "b", 60, 100),
		}, {
			name:   "a Release of unknown outcome, made again, is stored twice",
			before: []linear.Op{opened("a", 0), extended("a", 100), unknown(released("a", 60))},
			right:  released("a", 60), wrong: released("a", 70),
			after: []linear.Op{opened("b", 60)},
		}, {
			name:   "a claim comes back whose node may have been deleted",
			before: []linear.Op{opened("a", 0), unknown(ended("a")), lost(extended("a", 100))},
			right:  opened("b", 0), wrong: extended("a", 200),
		}, {
			name:   "a claim's node is deleted later than others wrote, and something else with it",
			before: []linear.Op{opened("a", 0), unknown(ended("a")), extended("a", 100)},
			right:  opened("b", 100), wrong: opened("b", 0),
		}, {
			name:   "a Release that was stored is lost, and nobody has opened the record since",
			before: []linear.Op{opened("a", 0), extended("a", 100), unknown(released("a", 60)), read(60, 60, 60, "a")},
			right:  released("a", 60), wrong: lost(released("a", 60)),
		}, {
			name:   "a Release that is lost, and was stored by its first try, lowers too far",
			before: []linear.Op{opened("a", 0), extended("a", 100), at(3, 5, lost(released("a", 60)))},
			right:  at(4, 4, opened("b", 60)), wrong: at(4, 4, opened("b", 59)),
		}, {
			name:   "a Release answers twice that it is done",
			before: []linear.Op{opened("a", 0), extended("a", 100), released("a", 60)},
			right:  lost(released("a", 60)), wrong: released("a", 60),
		}, {
			name:   "an Extend of unknown outcome lowers",
			before: []linear.Op{opened("a", 0), extended("a", 100), unknown(extended("a", 200)), ended("a")},
			right:  opened("b", 200), wrong: opened("b", 150),
		}, {
			name:   "an Extend of unknown outcome lands after a later one",
			before: []linear.Op{opened("a", 0), unknown(extended("a", 200)), extended("a", 100), read(100, 10, 50, "a")},
			right:  read(100, 10, 50, "a"), wrong: read(200, 20, 100, "a"),
		}, {
			name:   "an Extend of unknown outcome lands after its loss was known",
			before: []linear.Op{mortal(opened("a", 0)), unknown(extended("a", 200)), lost(extended("a", 100)), read(0, 0, 0, "a")},
			right:  opened("b", 0), wrong: opened("b", 200),
		}, {
			name:   "an Extend of unknown outcome lands after its claim's end",
			before: []linear.Op{opened("a", 0), unknown(extended("a", 200)), ended("a"), read(0, 0, 0, "a")},
			right:  opened("b", 0), wrong: opened("b", 200),
		}, {
			name:   "an opening of unknown outcome lands after another's",
			before: []linear.Op{unknown(opened("a", 0)), opened("b", 0), extended("b", 10)},
			right:  extended("b", 20), wrong: lost(extended("b", 20)),
		}, {
			name:   "what is read is out of date",
			before: []linear.Op{opened("a", 0), extended("a", 100), extended("a", 200)},
			right:  read(200, 20, 100, "a"), wrong: read(100, 10, 50, "a"),
		}, {
			name:   "what is read was never so",
			before: []linear.Op{opened("a", 0), extended("a", 100), extended("a", 200)},
			right:  read(200, 20, 100, "a"), wrong: read(200, 10, 100, "a"),
		}, {
			name:   "a record vanishes",
			before: []linear.Op{opened("a", 0), extended("a", 100), ended("a")},
			right:  read(100, 10, 50, "a"), wrong: read(0, 0, 0, ""),
		}, {
			name:   "a claim that is held is said not to be there",
			before: []linear.Op{opened("a", 0), extended("a", 100)},
			right:  ended("a"), wrong: lost(ended("a")),
		}, {
			name:   "a raise forgets the one before",
			before: []linear.Op{raised("1", 0, 50)},
			right:  raised("2", 50, 20), wrong: raised("2", 0, 20),
			after: []linear.Op{opened("a", 50)},
		}, {
			name:   "a raise lowers",
			before: []linear.Op{raised("1", 0, 50), raised("2", 50, 20)},
			right:  opened("a", 50), wrong: opened("a", 20),
		}, {
			name:   "an effect before its call",
			before: []linear.Op{opened("a", 0), at(3, 9, extended("a", 100))},
			right:  at(4, 5, read(100, 10, 50, "a")), wrong: at(2, 2, read(100, 10, 50, "a")),
		},
	} {
		history := func(o linear.Op) []linear.Op {
			return onward(slices.Concat(test.before, []linear.Op{o}, test.after))
		}
		if v := linear.Check(history(test.right), time.Minute); v.Result != porcupine.Ok {
			t.Errorf("%s: the right one, %v, is refused (%s)", test.name, test.right, v.Result)
		}
		v := linear.Check(history(test.wrong), time.Minute)
		if v.Result != porcupine.Illegal {
			t.Errorf("%s: the wrong one, %v, is accepted (%s)", test.name, test.wrong, v.Result)
		} else if len(v.Until) == 0 {
			t.Errorf("%s: the verdict shows nothing", test.name)
		}
	}
}

// What is told of a wrong history ends where it went wrong.
func TestShortest(t *testing.T) {
	t.Parallel()
	history := onward([]linear.Op{
		opened("a", 0), extended("a", 100), ended("a"), opened("b", 50), extended("b", 200), ended("b"), opened("c", 200), extended("c", 300),
	})
	for i := range history { // of two worker IDs
		other := history[i]
		other.Worker, other.Floor, other.Opening = 1, other.Floor+100*generator.Tick(min(i/3, 1)), other.Opening+"1"
		if i == 3 {
			other.Floor = 100
		}
		if i == 6 {
			other.Floor = 200
		}
		history = append(history, other)
	}
	v := linear.Check(history, time.Minute)
	if v.Result != porcupine.Illegal || v.Worker != 0 || len(v.Until) != 4 || v.Until[3].Opening != "b" {
		t.Errorf("%s on worker ID %d: %v; want it to end with the opening b on 0", v.Result, v.Worker, v.Until)
	}
}
