package audit

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/flakeward/flakeward/audit/evidence"
)

// reported returns the cluster's evidence as a simulation reports it.
func (w *fakeCluster) reported() []Reported {
	var hosts []Reported
	for _, h := range w.hosts {
		t := Reported{Name: h.name, Replies: slices.Values(h.replies), Steps: h.steps}
		for _, start := range h.starts {
			t.Starts = append(t.Starts, slices.Values(start))
		}
		hosts = append(hosts, t)
	}
	return hosts
}

// What is told is judged as what is in logs; times are told as they are.
func TestJudgeReported(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 0))
	w := newFakeCluster(layoutOf(t, "flakeward"), 3, r.IntN)
	for _, h := range w.hosts {
		h.start(true)
	}
	for range 3000 {
		w.live()
	}
	c, sites := w.evidence()
	want, err := judge(c, sites, partMemory)
	if err != nil {
		t.Fatal(err)
	}
	got, err := JudgeReported(c, w.reported())
	if err != nil || !reflect.DeepEqual(got, want) || got.Violations() > 0 || got.Issued == 0 {
		t.Fatalf("%+v, %v; in logs %+v", got, err, want)
	}

	start := &w.hosts[1].starts[0]
	for _, e := range *start {
		if e.Kind == evidence.Issued {
			e.At = w.now + 1_234_567_000
			*start = append(*start, e)
			break
		}
	}
	got, err = JudgeReported(c, w.reported())
	at := evidence.Mono(w.now + 1_234_567_000)
	if err != nil || got.Findings[Unique].Kinds[IssuedTwice] == 0 || !strings.Contains(strings.Join(got.Examples(), "\n"), (&court{}).when(at)) {
		t.Errorf("an ID that is there twice, at %s: %v, %v", (&court{}).when(at), got.Examples(), err)
	}
}

func TestJudgeToldNothing(t *testing.T) {
	w := newFakeCluster(layoutOf(t, "flakeward"), 1, func(int) int { return 1 })
	w.hosts[0].start(true)
	c, _ := w.evidence()
	if _, err := JudgeReported(c, w.reported()); err == nil || !strings.Contains(err.Error(), "the clients of host host-1 have recorded nothing") {
		t.Errorf("clients that say nothing: %v", err)
	}
	if _, err := JudgeReported(c, nil); err == nil || !strings.Contains(err.Error(), "no host is given") {
		t.Errorf("no host: %v", err)
	}
}
