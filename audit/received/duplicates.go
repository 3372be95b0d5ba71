// Package received judges what clients received, exactly and not by sampling. It is for tests that
// have no event log: of normal builds, of one coordinator's directory, or of several hosts without
// clients' times. It finds IDs that came twice, and ticks of a worker ID from which two daemons
// issued. Where there is an event log, package audit judges more, from both sides.
package received

import "slices"

// Duplicates is what came of a comparison.
type Duplicates struct {
	IDs      uint64  // compared
	Repeated uint64  // of them, those that had been there before: 0 is what is promised
	Examples []int64 // some of the IDs that were repeated, at most 10
}

const maxExamples = 10

// FindDuplicates compares all IDs with each other. It sorts them.
func FindDuplicates(ids []int64) Duplicates {
	d := Duplicates{IDs: uint64(len(ids))}
	slices.Sort(ids)
	for i := 1; i < len(ids); i++ {
		if ids[i] != ids[i-1] {
			continue
		}
		d.Repeated++
		if len(d.Examples) < maxExamples && !slices.Contains(d.Examples, ids[i]) {
			d.Examples = append(d.Examples, ids[i])
		}
	}
	return d
}
