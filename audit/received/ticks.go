package received

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/generator"
)

// SharedTicks is what came of comparing the lives of many daemons.
type SharedTicks struct {
	IDs         uint64 // compared
	Shared      uint64 // ticks of a worker ID from which more than one life issued: 0 is what is promised
	Undecodable uint64 // integers that are no ID of the layout: 0, too
	Examples    []string
}

// FindSharedTicks compares the IDs of all lives of all daemons of a cluster, by the names of the
// lives: whoever had a worker ID, no other life issued in the same tick of it. It keeps 16 bytes
// for each ID.
func FindSharedTicks(layout *generator.Layout, lives map[string][]int64) SharedTicks {
	var s SharedTicks
	type issue struct {
		tick   generator.Tick
		worker int32
		life   int32
	}
	names := make([]string, 0, len(lives))
	n := 0
	for name, ids := range lives {
		names = append(names, name)
		n += len(ids)
	}
	slices.Sort(names)
	all := make([]issue, 0, n)
	for life, name := range names {
		for _, id := range lives[name] {
			s.IDs++
			parts, err := layout.Decompose(id)
			if err != nil {
				s.Undecodable++
				s.example("%d, of %s, is no ID: %v", id, name, err)
				continue
			}
			all = append(all, issue{parts.Tick, int32(parts.Worker), int32(life)})
		}
	}
	slices.SortFunc(all, func(a, b issue) int {
		return cmp.Or(cmp.Compare(a.worker, b.worker), cmp.Compare(a.tick, b.tick), cmp.Compare(a.life, b.life))
	})
	for i := 1; i < len(all); i++ {
		a, b := all[i-1], all[i]
		if a.worker == b.worker && a.tick == b.tick && a.life != b.life {
			s.Shared++
			s.example("tick %d of worker ID %d was issued from by %s and by %s", a.tick, a.worker, names[a.life], names[b.life])
		}
	}
	return s
}

func (s *SharedTicks) example(format string, args ...any) {
	if len(s.Examples) < maxExamples {
		s.Examples = append(s.Examples, fmt.Sprintf(format, args...))
	}
}
