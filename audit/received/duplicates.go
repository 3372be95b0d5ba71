// Package received judges what clients received, exactly and not by sampling. It is for
// tests that have no event log: of normal builds, of one host's state directory, or of
// several hosts without clients' times. It finds IDs that came twice, IDs above the
// journal's mark, ticks that holders of one worker ID shared, and IDs that fell on a
// connection. Where there is an event log, package audit judges more, from both sides.
package received

import (
	"slices"
)

// Source hands out all IDs to be compared, in any order, and the same ones whenever it is called.
type Source func(id func(int64)) error

// Duplicates is what came of a comparison.
type Duplicates struct {
	IDs      uint64  // compared
	Repeated uint64  // of them, those that had been there before: 0 is what is promised
	Examples []int64 // some of the IDs that were repeated, at most 10
}

const maxExamples = 10

// FindDuplicates compares all IDs of source with each other. It keeps about memory bytes of them at
// a time and calls source once to count and then as often as that needs, so the number of IDs is
// not bounded by memory.
func FindDuplicates(source Source, memory int64) (Duplicates, error) {
	var d Duplicates
	if err := source(func(int64) { d.IDs++ }); err != nil {
		return Duplicates{}, err
	}
	const size = 8
	parts := 1 + d.IDs*size/uint64(max(memory, size))
	part := make([]int64, 0, d.IDs/parts+d.IDs/parts/8+1)
	for p := range parts {
		part = part[:0]
		err := source(func(id int64) {
			if partOf(id, parts) == p {
				part = append(part, id)
			}
		})
		if err != nil {
			return Duplicates{}, err
		}
		slices.Sort(part)
		for i := 1; i < len(part); i++ {
			if part[i] != part[i-1] {
				continue
			}
			d.Repeated++
			if len(d.Examples) < maxExamples && !slices.Contains(d.Examples, part[i]) {
				d.Examples = append(d.Examples, part[i])
			}
		}
	}
	return d, nil
}

// partOf spreads IDs evenly over the parts, whatever their fields hold: multiplicative hashing
// (Knuth, The Art of Computer Programming, volume 3, section 6.4).
func partOf(id int64, parts uint64) uint64 {
	const golden = 0x9e3779b97f4a7c15 // 2^64 divided by the golden ratio
	return (uint64(id) * golden >> 32) % parts
}
