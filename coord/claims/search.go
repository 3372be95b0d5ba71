package claims

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// considered is how many records a search reads before any floor that suits the claim will do.
// Until then it looks for a lower one.
const considered = 1000

// candidate is a worker ID that no claim holds.
type candidate struct {
	worker   int
	floor    generator.Tick
	distance int // from where the search began, cyclically
}

// search finds the best of the worker IDs that no claim holds. Its memory grows with the claims and
// with want, not with the worker IDs and records.
type search struct {
	claimant
	cluster *cluster
	ids     coord.WorkerRange // that the cluster assigns
	near    int               // where it begins, counted from the first of them
	want    int               // how many are enough

	taken    map[int]bool // worker IDs with a claim, and those whose records are damaged
	orphans  []Node       // see nodes
	passed   int          // how many worker IDs were looked at
	records  int          // how many of them have a record
	suitable int          // how many of those are free, and the caller is willing to wait for their floors
	unused   int          // how many of the best have no record
	best     []candidate  // the lowest floor first and, among equals, the nearest after near
	nearest  bool         // near is free, and the caller is willing to wait for its floor
}

// search lists the claims, and the records as far as it has to. It deletes the claims that nothing
// uses, and finds the best worker IDs that are free: those with the lowest floors and, among
// equals, the nearest after near. If each of those is above request.Latest, a re-lease, which has a
// worker ID to wait with, gets *coord.AheadError. With none free it returns *coord.ExhaustedError.
func (cl claimant) search(ctx context.Context, near, want int) (*search, error) {
	c := cl.c
	var s *search
	err := c.cluster.inCluster(ctx, func(j *cluster) error {
		ids := j.ids()
		s = &search{claimant: cl, cluster: j, ids: ids, near: max(0, near-ids.First) % ids.Count, want: want, taken: map[int]bool{}}
		found, err := c.store.Claims(ctx, j.entry, false)
		if err != nil {
			return err
		}
		s.claimed(found)
		if len(s.taken) == ids.Count {
			return nil
		}
		if err := c.store.Records(ctx, j.entry, ids.First+s.near, s.visit); err != nil {
			return err
		}
		if !s.enough() {
			s.pass(ids.Count)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, orphan := range s.orphans {
		if err := cl.before(coord.AnyWorker); err != nil { // in a copy it may be its original's, in use
			return nil, err
		}
		if err := c.store.Delete(ctx, orphan.Name); err != nil {
			return nil, err
		}
	}
	workers := s.ids.Count
	if len(s.best) == 0 {
		return nil, fmt.Errorf("%s: %w", c.store.Name(), &coord.ExhaustedError{Held: len(s.taken), Workers: workers})
	}
	if cl.request.Fresh && !s.early() {
		return nil, fmt.Errorf("%s: %w", c.store.Name(), &coord.AheadError{
			Free: workers - len(s.taken), Lowest: s.best[0].floor, Latest: cl.request.Latest,
		})
	}
	return s, nil
}

// claimed sorts the listed claims into taken and orphans.
func (s *search) claimed(found []Node) {
	for _, n := range found {
		if s.c.nodes.isOrphan(n) {
			s.orphans = append(s.orphans, n)
			continue
		}
		if s.ids.Has(n.Worker) {
			s.taken[n.Worker] = true
		}
	}
}

// visit looks at the next record, and reports whether the search goes on.
func (s *search) visit(worker int, stored Entry) bool {
	if !s.ids.Has(worker) {
		return true
	}
	at := (worker - s.ids.First - s.near + s.ids.Count) % s.ids.Count
	if at < s.passed { // made since, by a listing in parts
		return true
	}
	s.pass(at)
	if s.enough() {
		return false
	}
	s.passed = at + 1
	s.records++
	if !s.taken[worker] {
		r, err := readRecord(s.c.store, worker, stored)
		if err != nil {
			s.taken[worker] = true
			s.c.log.Error("a worker ID is not assigned", "worker", worker, "error", err)
			return true
		}
		a := candidate{worker, s.cluster.found(r).Ceiling, at}
		s.add(a)
		if !s.late(a) {
			s.suitable++
		}
	}
	return !s.enough()
}

// pass looks at the worker IDs without a record that come before the one at a distance.
func (s *search) pass(distance int) {
	for ; s.passed < distance && !s.enough(); s.passed++ {
		worker := s.ids.First + (s.near+s.passed)%s.ids.Count
		if s.taken[worker] {
			continue
		}
		s.add(candidate{worker, s.cluster.found(record{}).Ceiling, s.passed})
		s.unused++
	}
}

// enough reports whether the search may end. No floor is lower than that of a worker ID without a
// record.
func (s *search) enough() bool {
	return s.unused == s.want || s.suitable >= s.want && s.records >= considered
}

// add keeps a candidate if it is one of the best.
func (s *search) add(a candidate) {
	if a.distance == 0 && !s.late(a) {
		s.nearest = true
	}
	at, _ := slices.BinarySearchFunc(s.best, a, func(b, a candidate) int {
		return cmp.Or(cmp.Compare(b.floor, a.floor), cmp.Compare(b.distance, a.distance))
	})
	if at == s.want {
		return
	}
	s.best = slices.Insert(s.best[:min(len(s.best), s.want-1)], min(at, s.want-1), a)
}

// late reports whether the caller is not willing to wait for a candidate's floor.
func (s *search) late(a candidate) bool { return a.floor > s.request.Latest }

// early reports whether the caller is willing to wait for the best candidate's floor.
func (s *search) early() bool { return !s.late(s.best[0]) }
