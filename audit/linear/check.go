package linear

import (
	"cmp"
	"hash/maphash"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/flakeward/flakeward/generator"
)

// model is the specification for porcupine, of one worker ID in a cluster with that floor: the
// input of an operation is an Op, and there is no output.
func model(floor generator.Tick) porcupine.Model {
	seed := maphash.MakeSeed()
	several := porcupine.NondeterministicModel{
		Init: func() []any { return []any{record{floor: floor}} },
		Step: func(state, input, _ any) []any {
			var next []any
			for _, r := range state.(record).step(input.(Op)) {
				next = append(next, r)
			}
			return next
		},
		Hash: func(state any) uint64 { return maphash.Comparable(seed, state.(record)) },
	}
	return several.ToModel()
}

// Verdict is what was found of a worker ID whose history cannot be explained.
type Verdict struct {
	Worker int
	// Until are its operations by their returns, up to the first one that cannot be explained.
	Until []Op
	// Undecided: the search took longer than it may, so that nothing is known.
	Undecided bool
}

// Check judges a history of any number of worker IDs of a cluster with that floor, each by itself,
// and returns what was found of those that are not linearizable. The timeout bounds the search for
// each.
func Check(all []Op, floor generator.Tick, timeout time.Duration) []Verdict {
	workers := map[int]bool{}
	for _, o := range all {
		workers[o.Worker] = true
	}
	var found []Verdict
	for _, worker := range slices.Sorted(maps.Keys(workers)) {
		one := of(all, worker)
		switch porcupine.CheckOperationsTimeout(model(floor), operations(one), timeout) {
		case porcupine.Illegal:
			found = append(found, Verdict{Worker: worker, Until: shortest(one, floor, timeout)})
		case porcupine.Unknown:
			found = append(found, Verdict{Worker: worker, Until: one, Undecided: true})
		}
	}
	return found
}

// of returns the operations of one worker ID, with the holders that no opening of it
// names as Unseen.
func of(all []Op, worker int) []Op {
	known := map[string]bool{"": true}
	for _, o := range all {
		if o.Kind == Open && o.Outcome == Done {
			known[o.Opening] = true
		}
	}
	var one []Op
	for _, o := range all {
		if o.Worker != worker {
			continue
		}
		if o.Kind == Read && !known[o.Found.Holder] {
			o.Found.Holder = Unseen
		}
		one = append(one, o)
		if (o.Kind == Extend || o.Kind == Release) && o.Outcome == Lost {
			// It may have been stored before its claim was found to be lost: a Release by an
			// earlier try, an Extend before it found another's node.
			o.Outcome, o.By = Unknown, o.Return
			one = append(one, o)
		}
	}
	slices.SortStableFunc(one, func(a, b Op) int { return cmp.Compare(a.Return, b.Return) })
	return one
}

// shortest returns the operations that had returned when it first could not be explained
// any more what happened: what begins with it cannot be either.
func shortest(one []Op, floor generator.Tick, timeout time.Duration) []Op {
	low, high := 0, len(one) // up to low it can be explained, up to high it cannot
	for high-low > 1 {
		middle := (low + high) / 2
		if porcupine.CheckOperationsTimeout(model(floor), operations(upTo(one, middle)), timeout) == porcupine.Ok {
			low = middle
		} else {
			high = middle
		}
	}
	return upTo(one, high)
}

// upTo is what was known when the n-th operation had returned: those that were under way
// may have taken place.
func upTo(one []Op, n int) []Op {
	part := slices.Clone(one[:n])
	end := part[n-1].Return
	for _, o := range one[n:] {
		if o.Call > end || o.Kind == Read || o.Outcome == Lost {
			continue
		}
		if o.Outcome == Done {
			o.Outcome = Unknown
			o.By = o.Return
		}
		part = append(part, o)
	}
	return part
}

// operations bounds what is of unknown outcome and hands all to porcupine.
func operations(one []Op) []porcupine.Operation {
	var all []porcupine.Operation
	for i, o := range one {
		if o.Outcome == Unknown {
			o.Return = latest(one, i)
		}
		all = append(all, porcupine.Operation{ClientId: o.Client, Input: o, Call: o.Call, Return: o.Return})
	}
	return all
}

// latest is when the i-th operation, of unknown outcome, took place if it ever did: in
// the end of the history if nothing tells.
//
// A write compares the version that the record had at its call or later, unless its own
// claim wrote in between; so none takes place after another was acknowledged that was
// begun after it. A claim sends one write at a time, and that again until it is answered.
func latest(one []Op, i int) int64 {
	o, by := one[i], int64(math.MaxInt64)
	if o.By != 0 {
		by = o.By
	}
	for _, x := range one {
		if x.Outcome == Unknown || o.Kind == End || x.Kind == End || x.Kind == Read { // a deletion compares nothing
			continue
		}
		if x.Call >= o.Call && (x.Outcome == Done || x.Opening == o.Opening) {
			by = min(by, x.Return)
		}
	}
	return max(by, o.Call)
}
