package audit

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/audit/history"
	"github.com/flakeward/flakeward/generator"
)

// none is the ceiling of what was never granted.
const none = generator.Tick(-1)

// opening is what the coordinator's history says of one opening.
type opening struct {
	worker   int
	tree     int            // that it was stored in first
	order    int64          // and there
	found    generator.Tick // how far all was granted before it, where it opened the record, and at least the cluster's floor then
	highest  generator.Tick // the highest ceiling that was stored under it
	left     generator.Tick // the ceiling that the next opening found, or that is there now; the highest of all trees
	earlier  generator.Tick // what it left in trees before this one
	replaced bool
	written  []write // what was stored under it since, in order
	matched  int     // how many of those no acknowledgement can be of any more
}

// write is one version of a record, and the ceiling that it found.
type write struct{ found, stored generator.Tick }

// acknowledged reports whether a ceiling that the holder was told of, after all those before, is of
// a write that was stored: each is of one of its own, in their order. Those in between were stored
// too, and their replies lost.
func (o *opening) acknowledged(ceiling generator.Tick) bool {
	for i := o.matched; i < len(o.written); i++ {
		if w := o.written[i]; w.stored == max(w.found, ceiling) {
			o.matched = i + 1
			return true
		}
	}
	return false
}

// precedes reports whether the opening was stored before a raise was made.
func (o *opening) precedes(r Raise) bool {
	return o.tree < r.Tree || o.tree == r.Tree && o.order <= r.Order
}

// has reports whether a tree has the raise.
func (r Raise) has(tree int) bool { return r.Tree <= tree && tree <= r.Last }

// past is the coordinator's history.
type past struct {
	trees    int
	floor    generator.Tick // that the cluster was made with
	raises   []Raise
	openings map[string]*opening // by ID; they are random and are not repeated
	entered  map[history.Version]bool
	stray    []history.Version // of a holder that another had replaced before
	lowered  []lowering
}

// lowering is a version whose ceiling is below that of the one before it.
type lowering struct {
	history.Version
	from  generator.Tick
	opens bool // it is of another opening than the one before
}

// readHistory goes through the histories of all trees, each by itself.
func readHistory(trees [][]history.Version, floor generator.Tick, raises []Raise) (past, error) {
	p := past{trees: len(trees), floor: floor, raises: raises, openings: map[string]*opening{}, entered: map[history.Version]bool{}}
	for n, tree := range trees {
		// A tree that was put back from a copy has records that are too low; how far all may go on
		// from there is judged of what they issue.
		for _, o := range p.openings {
			o.earlier = o.left
		}
		versions := slices.Clone(tree)
		slices.SortStableFunc(versions, func(a, b history.Version) int {
			return cmp.Or(cmp.Compare(a.Worker, b.Worker), cmp.Compare(a.Order, b.Order))
		})
		var last history.Version
		for i, v := range versions {
			if i == 0 || v.Worker != last.Worker {
				last = history.Version{Worker: v.Worker, Gone: true}
			} else if v.Order == last.Order {
				return past{}, fmt.Errorf("audit: the coordinator's history has two versions of worker ID %d at %d", v.Worker, v.Order)
			}
			if !v.Gone && v.Holder == "" {
				return past{}, fmt.Errorf("audit: the coordinator's history has a version of worker ID %d at %d without a holder", v.Worker, v.Order)
			}
			if !p.entered[v] { // a tree that was put back from a copy begins as the one before did
				p.enter(n, last, v)
				p.entered[v] = true
			}
			last = v
		}
	}
	return p, nil
}

// floorAt is the cluster's floor when a version of a tree was stored.
func (p *past) floorAt(tree int, order int64) generator.Tick {
	floor := p.floor
	for _, r := range p.raises {
		if r.has(tree) && r.Order < order {
			floor = max(floor, r.Floor)
		}
	}
	return floor
}

// enter notes a version of a tree and the one before it.
func (p *past) enter(tree int, last, v history.Version) {
	if !last.Gone && (v.Gone || v.Holder != last.Holder) {
		p.openings[last.Holder].replaced = true
	}
	if v.Gone {
		return
	}
	o := p.openings[v.Holder]
	if o == nil {
		o = &opening{worker: v.Worker, tree: tree, order: v.Order, found: p.floorAt(tree, v.Order), highest: none, earlier: none}
		if !last.Gone {
			o.found = max(o.found, last.Ceiling)
		}
		p.openings[v.Holder] = o
	} else if !o.replaced && o.worker == v.Worker {
		o.written = append(o.written, write{last.Ceiling, v.Ceiling})
	}
	if o.replaced || o.worker != v.Worker {
		// It must not have been stored: whoever replaced the holder was not told of it.
		p.stray = append(p.stray, v)
		return
	}
	if v.Ceiling < last.Ceiling { // of a record that was gone it is 0
		p.lowered = append(p.lowered, lowering{v, last.Ceiling, v.Holder != last.Holder})
	}
	o.highest = max(o.highest, v.Ceiling)
	o.left = max(v.Ceiling, o.earlier)
}
