//go:build e2e

package kube

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/audit/received"
)

// window is a drill's time. Outside of the windows that may have failures, no request may fail.
type window struct {
	name     string
	from, to evidence.Mono
	mayFail  bool // there was no daemon for a moment
}

// judgement is what came of all requests.
type judgement struct {
	ids       []int64
	got, lost map[string]int // requests, by window
	failures  []string       // those that may not be, some of them
	failed    int
	descents  int                        // IDs that are not above the one before them on their connection
	longest   map[string]time.Duration   // request that was answered, by window
	latencies map[string][]time.Duration // of single requests, by application
}

// outside names what is in no window.
const outside = "between the drills"

// judge reads all that applications recorded below dir.
func judge(dir string, windows []window) (*judgement, error) {
	j := &judgement{got: map[string]int{}, lost: map[string]int{}, longest: map[string]time.Duration{}, latencies: map[string][]time.Duration{}}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".replies") {
			return err
		}
		name, err := filepath.Rel(dir, filepath.Dir(path))
		if err != nil {
			return err
		}
		last := map[uint32]int64{} // by connection
		return evidence.ReadReplies(path, func(r evidence.Reply) error {
			for _, run := range r.IDs {
				if before, asked := last[r.Connection]; asked && run.First <= before {
					j.descents++
				}
				last[r.Connection] = run.Last()
			}
			j.add(name, r, windows)
			return nil
		})
	})
	return j, err
}

func (j *judgement) add(name string, r evidence.Reply, windows []window) {
	for _, run := range r.IDs {
		for i := range run.N {
			j.ids = append(j.ids, run.First+int64(i)*run.Step)
		}
	}
	in := window{name: outside}
	for _, w := range windows {
		// A request belongs to the window that it met, on its way or with its answer.
		if r.Answered >= w.from && r.Asked <= w.to {
			in = w
		}
	}
	if r.Outcome == evidence.Got {
		j.got[in.name]++
		took := time.Duration(r.Answered - r.Asked)
		j.longest[in.name] = max(j.longest[in.name], took)
		if r.Asking == evidence.Single {
			j.latencies[name] = append(j.latencies[name], took)
		}
		return
	}
	j.lost[in.name]++
	if in.mayFail {
		return
	}
	if j.failed++; len(j.failures) < 10 {
		j.failures = append(j.failures, fmt.Sprintf("%s, %s, a request of kind %d that was asked %v after the window's begin: outcome %d: %s",
			in.name, name, r.Asking, time.Duration(r.Asked-in.from), r.Outcome, r.Text))
	}
}

// quantile is the latency that a share of an application's single requests did not exceed.
func (j *judgement) quantile(name string, share float64) time.Duration {
	all := j.latencies[name]
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(share*float64(len(all))))]
}

// verdict prints the figures, and fails what is broken.
func (j *judgement) verdict(n *node) {
	requests := 0
	for _, w := range append(n.windows, window{name: outside}) {
		n.Logf("FIGURE %s: in %v %d requests answered, the longest after %v, %d failed", w.name,
			time.Duration(w.to-w.from).Round(100*time.Millisecond), j.got[w.name], j.longest[w.name].Round(100*time.Microsecond), j.lost[w.name])
		requests += j.got[w.name]
		if w.name != outside && j.got[w.name] == 0 {
			n.Errorf("%s: no request was answered meanwhile, so the drill is void", w.name)
		}
	}
	found := received.FindDuplicates(j.ids)
	n.Logf("FIGURE %d requests, %d IDs, %d duplicates, %d out of order, %d requests failed that may not",
		requests, found.IDs, found.Repeated, j.descents, j.failed)
	if found.Repeated > 0 {
		n.Errorf("%d of %d IDs came twice, among them %v", found.Repeated, found.IDs, found.Examples)
	}
	if j.descents > 0 {
		n.Errorf("%d IDs are not above the one before them on their connection", j.descents)
	}
	if j.failed > 0 {
		n.Errorf("%d requests failed, among them:\n%s", j.failed, strings.Join(j.failures, "\n"))
	}
}
