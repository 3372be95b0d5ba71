package audit

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/audit/linear"
	"github.com/flakeward/flakeward/coord"
)

// patience bounds the search for an order of one worker ID's calls, which takes well below a
// second.
const patience = time.Minute

// linearizable is whether the calls can be judged. They cannot where the coordinator lost what it
// had stored, or where an operator raised the cluster's floor: when that took place nobody records.
func (c Cluster) linearizable() bool {
	if !c.Linear || len(c.Past) > 0 || len(c.Raises) > 0 {
		return false
	}
	return !slices.ContainsFunc(c.History, func(v history.Version) bool { return coord.ClusterEpochOf(v.Holder) != "" })
}

// calls are the calls of all daemons on the coordinator.
type calls struct {
	all     []*linear.Op
	unknown int // openings that nobody was told of
	last    evidence.Mono
}

// linear judges the calls by Linear.
func (j *court) linear(c Cluster) error {
	if !c.linearizable() {
		return nil
	}
	var found calls
	for i := range j.starts {
		if err := found.read(i, j.starts[i].log); err != nil {
			return fmt.Errorf("audit: %w", err)
		}
	}
	for _, o := range found.all {
		switch o.Outcome {
		case linear.Done:
			j.verdict.Calls.Done++
		case linear.Lost:
			j.verdict.Calls.Lost++
		default:
			j.verdict.Calls.Unknown++
		}
	}
	for _, v := range linear.Check(found.history(c), c.Floor, patience) {
		if v.Undecided {
			return fmt.Errorf("audit: no verdict on the calls of worker ID %d within %v", v.Worker, patience)
		}
		j.verdict.against(Linear, Unexplained, 1, func() string {
			const shown = 12
			var last strings.Builder
			for _, o := range v.Until[max(0, len(v.Until)-shown):] {
				who := "the coordinator"
				if o.Kind != linear.Read {
					who = j.startName(&j.starts[o.Client])
				}
				fmt.Fprintf(&last, "\n\t%s to %s, %s: %v", j.when(evidence.Mono(o.Call)), j.when(evidence.Mono(o.Return)), who, o)
			}
			return fmt.Sprintf("worker ID %d, calls of all hosts; the last %d by their ends:%s", v.Worker, shown, last.String())
		})
	}
	return nil
}

// read reads the log of one start. Whatever session a claim is in, it may end by itself.
func (c *calls) read(start int, l log[evidence.Event]) error {
	begun := map[uint64]int{} // of all, by the call's number
	return l.read(func(e evidence.Event) error {
		c.last = max(c.last, e.At)
		if o, ok := opOf(e); ok {
			o.Client, o.Call, o.Return, o.Outcome, o.Worker, o.Mortal = start, int64(e.At), math.MaxInt64, linear.Unknown, e.Worker, true
			if o.Kind == linear.Open {
				c.unknown++
				o.Opening = fmt.Sprint(linear.Unseen, c.unknown)
			}
			begun[e.Call] = len(c.all)
			c.all = append(c.all, &o)
			return nil
		}
		switch e.Kind {
		case evidence.Claimed, evidence.Extended, evidence.Released, evidence.Failed:
		default:
			return nil
		}
		i, ok := begun[e.Call]
		if !ok {
			return fmt.Errorf("%s: call %d ends, and its beginning is not there", l.name, e.Call)
		}
		o := c.all[i]
		delete(begun, e.Call)
		o.Return = int64(e.At)
		switch {
		case e.Kind != evidence.Failed:
			o.Outcome = linear.Done
		case e.Ending == evidence.Denied && o.Kind == linear.Open:
			o.By = o.Return // a try whose reply was lost may have been stored, and another after it
		case e.Ending == evidence.Denied:
			o.Outcome = linear.Lost
		}
		if e.Kind == evidence.Claimed {
			o.Opening, o.Floor = e.Opening, e.Floor
		}
		return nil
	})
}

// opOf is the operation that begins with an event, if one does.
func opOf(e evidence.Event) (linear.Op, bool) {
	switch e.Kind {
	case evidence.Claiming:
		return linear.Op{Kind: linear.Open}, true
	case evidence.Extending:
		return linear.Op{Kind: linear.Extend, Opening: e.Opening, Progress: coord.Progress{Ceiling: e.Ceiling, Issued: e.Issued}}, true
	case evidence.Releasing:
		return linear.Op{Kind: linear.Release, Opening: e.Opening, To: e.Last}, true
	default:
		return linear.Op{}, false
	}
}

// history is all that happened: the calls, and last what is stored of each worker ID in the end.
func (c *calls) history(of Cluster) []linear.Op {
	var all []linear.Op
	stored := map[int]history.Version{}
	for _, o := range c.all {
		all = append(all, *o)
		stored[o.Worker] = history.Version{}
	}
	for _, v := range of.History {
		if v.Order >= stored[v.Worker].Order {
			stored[v.Worker] = v
		}
	}
	for _, worker := range slices.Sorted(maps.Keys(stored)) {
		end := int64(c.last) + 1
		all = append(all, linear.Op{Kind: linear.Read, Call: end, Return: end, Worker: worker, Found: stored[worker]})
	}
	return all
}
