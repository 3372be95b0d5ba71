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
	found    generator.Tick // how far all was granted before it, where it opened the record; none if there was no record
	before   string         // the holder before it, empty if there was none
	highest  generator.Tick // the highest ceiling that was stored under it
	left     generator.Tick // the ceiling that the next opening found, or that is there now; the highest of all trees
	earlier  generator.Tick // what it left in trees before this one
	replaced bool
	written  []write // what was stored under it since, in order
	matched  int     // how many of those no acknowledgement can be of any more
}

// write is one version of a record, and the ceiling that it found.
type write struct{ found, stored generator.Tick }

// acknowledged reports whether a ceiling that the holder was told of, after all those before, is of a
// write that was stored: each is of one of its own, in their order. Those in between were stored
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

// past is the coordinator's history.
type past struct {
	openings map[string]*opening // by ID; they are random and are not repeated
	entered  map[history.Version]bool
	stray    []history.Version // of a holder that another had replaced before
}

// readHistory goes through the histories of all trees, each by itself.
func readHistory(trees [][]history.Version) (past, error) {
	p := past{openings: map[string]*opening{}, entered: map[history.Version]bool{}}
	for _, tree := range trees {
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
				p.enter(last, v)
				p.entered[v] = true
			}
			last = v
		}
	}
	return p, nil
}

// enter notes a version and the one before it.
func (p *past) enter(last, v history.Version) {
	if !last.Gone && (v.Gone || v.Holder != last.Holder) {
		p.openings[last.Holder].replaced = true
	}
	if v.Gone {
		return
	}
	o := p.openings[v.Holder]
	if o == nil {
		o = &opening{worker: v.Worker, found: none, highest: none, earlier: none}
		if !last.Gone {
			o.found, o.before = last.Ceiling, last.Holder
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
	o.highest = max(o.highest, v.Ceiling)
	o.left = max(v.Ceiling, o.earlier)
}
