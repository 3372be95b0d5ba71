package audit

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/received"
)

// Nothing is found of a cluster that keeps its promises, whatever the layout, and all is counted.
func TestSoundClusters(t *testing.T) {
	for _, layout := range []string{
		"flakeward", "sonyflake", "time=41@1ms,sequence=9,worker=3;epoch=2026-01-01", "worker=4,time=40@1ms,sequence=8;epoch=2026-01-01", "time=33@1s,worker=3,sequence=16;epoch=2026-01-01",
	} {
		s := newStageOf(t, layout)
		s.linear = true
		c, sites := s.evidence()
		v, err := judge(c, sites)
		if err != nil || v.Violations() != 0 {
			t.Fatalf("%s: found %q, %v", layout, v.Examples(), err)
		}
		var sum Counts
		requests, calls := uint64(0), uint64(0)
		for i, h := range s.hosts {
			of := v.Hosts[i]
			if of.Starts != len(h.starts) || of.Host != h.name {
				t.Errorf("%s: %s had %d starts, counted were %+v", layout, h.name, len(h.starts), of)
			}
			sum.Issued, sum.Received, sum.Lost = sum.Issued+of.Issued, sum.Received+of.Received, sum.Lost+of.Lost
			sum.Got, sum.LostReplies = sum.Got+of.Got, sum.LostReplies+of.LostReplies
			requests, calls = requests+uint64(len(h.replies)), calls+h.calls
		}
		want := Counts{Issued: 20*(requests-1) + 10, Received: 20 * (requests - 1), Lost: 10, Got: requests - 1, LostReplies: 1}
		if v.Counts != want || sum != want || uint64(v.Calls.Done) != calls || v.Calls.Lost+v.Calls.Unknown != 0 {
			t.Errorf("%s: counted %+v and %+v, and of hosts %+v; want %+v, and %d calls", layout, v.Counts, v.Calls, sum, want, calls)
		}
	}
}

// One ID is issued again somewhere: it is found, and counted as simply as that can be done.
func TestRepeatsAreCountedExactly(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		s := newStage(t)
		var runs []evidence.Run
		for _, h := range s.hosts {
			for _, l := range h.starts {
				for _, e := range l {
					if e.Kind == evidence.Issued {
						runs = append(runs, e.Run)
					}
				}
			}
		}
		for range rapid.IntRange(1, 5).Draw(r, "planted") {
			again := rapid.SampledFrom(runs).Draw(r, "run")
			skip := rapid.IntRange(0, again.N-1).Draw(r, "skip")
			again.First += int64(skip) * again.Step
			again.N = rapid.IntRange(1, again.N-skip).Draw(r, "n")
			host := rapid.IntRange(0, 2).Draw(r, "host")
			runs = append(runs, again)
			if rapid.Bool().Draw(r, "received") {
				s.give(host, 99, again)
			} else {
				s.issue(host, again)
			}
		}
		expand := func(runs []evidence.Run) (ids []int64) {
			for _, r := range runs {
				for i := range r.N {
					ids = append(ids, r.First+int64(i)*r.Step)
				}
			}
			return ids
		}
		issuedIDs := expand(runs)
		var receivedIDs []int64
		for _, h := range s.hosts {
			for _, r := range h.replies {
				receivedIDs = append(receivedIDs, expand(r.IDs)...)
			}
		}
		issued, received := received.FindDuplicates(issuedIDs).Repeated, received.FindDuplicates(receivedIDs).Repeated
		lost := uint64(0)
		for _, id := range issuedIDs {
			if _, found := slices.BinarySearch(receivedIDs, id); !found {
				lost++
			}
		}
		c, sites := s.evidence()
		v, err := judge(c, sites)
		if err != nil {
			r.Fatal(err)
		}
		kinds := v.Findings[Unique].Kinds
		if kinds[IssuedTwice] != issued || kinds[ReceivedTwice] != received || v.Lost != lost {
			r.Fatalf("found %v and %d lost, want %d issued twice, %d received twice, %d lost", kinds, v.Lost, issued, received, lost)
		}
	})
}
