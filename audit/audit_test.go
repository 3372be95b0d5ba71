package audit

import (
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/received"
	"github.com/flakeward/flakeward/generator"
)

func layoutOf(t interface{ Fatal(...any) }, text string) *generator.Layout {
	l, err := generator.ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// chance picks evenly.
func chance(seed uint64) func(n int) int {
	return rand.New(rand.NewPCG(seed, 0)).IntN
}

// Whatever befalls a cluster that keeps its promises, nothing is found, and all is counted.
func TestSoundClusters(t *testing.T) {
	layouts := []string{"flakeward", "sonyflake", "time=41@1ms,sequence=9,worker=3;epoch=2026-01-01", "worker=4,time=40@1ms,sequence=8;epoch=2026-01-01", "time=33@1s,worker=3,sequence=16;epoch=2026-01-01"}
	var seen seen
	rapid.Check(t, func(t *rapid.T) {
		w := newFakeCluster(layoutOf(t, rapid.SampledFrom(layouts).Draw(t, "layout")), 3, chance(rapid.Uint64().Draw(t, "seed")))
		w.linear, w.raised = true, rapid.Bool().Draw(t, "raised")
		for _, h := range w.hosts {
			h.start(true)
			h.ask(5, true)
		}
		for range rapid.SampledFrom([]int{20, 200, 600}).Draw(t, "steps") {
			w.live()
		}
		seen.look(w)
		if w.got+w.lost == 0 {
			return // no ID was issued: that is no verdict
		}
		c, sites := w.evidence()
		v, err := judge(c, sites)
		if err != nil {
			t.Fatal(err)
		}
		if v.Violations() != 0 {
			t.Fatalf("found %q", v.Examples())
		}
		if v.Received != w.got || v.Lost != w.lost || v.Issued != w.got+w.lost {
			t.Fatalf("counted %+v, want %d received and %d lost", v.Counts, w.got, w.lost)
		}
		if len(w.raises) > 0 {
			seen.raises++
		}
		calls := uint64(0)
		for _, h := range w.hosts {
			calls += h.calls
		}
		if got := v.Calls; len(w.raises) == 0 && uint64(got.Done+got.Lost+got.Unknown) != calls {
			t.Fatalf("counted %+v, want %d calls", got, calls)
		}
		var sum Counts
		requests := 0
		for i, h := range v.Hosts {
			sum.Issued, sum.Received, sum.Lost = sum.Issued+h.Issued, sum.Received+h.Received, sum.Lost+h.Lost
			sum.Got, sum.Refused, sum.LostReplies, sum.Unsent = sum.Got+h.Got, sum.Refused+h.Refused, sum.LostReplies+h.LostReplies, sum.Unsent+h.Unsent
			requests += len(w.hosts[i].replies)
			if h.Starts != len(w.hosts[i].starts) {
				t.Fatalf("%s had %d starts, counted were %d", h.Host, len(w.hosts[i].starts), h.Starts)
			}
		}
		if sum != v.Counts || requests != int(v.Got+v.Refused+v.LostReplies+v.Unsent) {
			t.Fatalf("the hosts add up to %+v, the cluster to %+v, of %d requests", sum, v.Counts, requests)
		}
	})
	if seen.down == 0 || seen.late == 0 || seen.taken == 0 || seen.raises == 0 || seen.cut == 0 {
		t.Errorf("the clusters were too quiet to show anything: %+v", seen)
	}
}

// seen counts what befell clusters.
type seen struct {
	down   int // IDs below one before them from the same worker ID
	late   int // recorded when their lane had been given back
	taken  int // worker IDs that another host took over
	raises int // clusters with some
	cut    int // calls that were refused because of one
}

func (s *seen) look(w *fakeCluster) {
	held := map[int]string{}
	for _, h := range w.hosts {
		for _, l := range h.starts {
			high, closed := map[int]key{}, map[int]bool{}
			for _, e := range l {
				switch e.Kind {
				case evidence.Releasing:
					closed[e.Worker] = true
				case evidence.Failed:
					s.cut++
				case evidence.Issued:
					k := w.keyOf(e.Run.First)
					worker := w.workerOf(k)
					if k < high[worker] {
						s.down++
					}
					if closed[worker] {
						s.late++
					}
					if held[worker] != "" && held[worker] != h.name {
						s.taken++
					}
					held[worker] = h.name
					high[worker] = max(high[worker], k)
				}
			}
		}
	}
}

// One ID is issued again somewhere: it is found, and counted as simply as that can be done.
func TestRepeatsAreCountedExactly(t *testing.T) {
	layout := layoutOf(t, "sonyflake")
	rapid.Check(t, func(t *rapid.T) {
		w := newFakeCluster(layout, 2, chance(rapid.Uint64().Draw(t, "seed")))
		for _, h := range w.hosts {
			h.start(true)
		}
		for range 30 {
			w.live()
			w.hosts[0].ask(3, true)
			w.hosts[1].ask(3, w.pick(2) == 0)
		}
		var runs []evidence.Run
		for _, h := range w.hosts {
			for _, l := range h.starts {
				for _, e := range l {
					if e.Kind == evidence.Issued {
						runs = append(runs, e.Run)
					}
				}
			}
		}
		if len(runs) == 0 {
			return
		}
		for range rapid.IntRange(1, 5).Draw(t, "planted") {
			again := rapid.SampledFrom(runs).Draw(t, "run")
			skip := w.pick(again.N)
			again.First += int64(skip) * again.Step
			again.N = 1 + w.pick(again.N-skip)
			h := w.hosts[w.pick(2)]
			l := &h.starts[w.pick(len(h.starts))]
			*l = append(*l, evidence.Event{At: w.now, Kind: evidence.Issued, Run: again})
			runs = append(runs, again)
			if w.pick(2) == 0 {
				h.replies = append(h.replies, evidence.Reply{Connection: 99, Asking: evidence.InRuns, Outcome: evidence.Got, Asked: w.now, Answered: w.now + 1, IDs: []evidence.Run{again}})
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
		for _, h := range w.hosts {
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
		c, sites := w.evidence()
		v, err := judge(c, sites)
		if err != nil {
			t.Fatal(err)
		}
		kinds := v.Findings[Unique].Kinds
		if kinds[IssuedTwice] != issued || kinds[ReceivedTwice] != received || v.Lost != lost {
			t.Fatalf("found %v and %d lost, want %d issued twice, %d received twice, %d lost", kinds, v.Lost, issued, received, lost)
		}
	})
}
