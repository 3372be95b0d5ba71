package linear_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/flakeward/flakeward/coord/linear"
)

// recorder writes a history down.
type recorder struct {
	start time.Time

	mu   sync.Mutex
	ops  []linear.Op
	acks int
}

func newRecorder() *recorder { return &recorder{start: time.Now()} }

// now is the monotonic clock.
func (r *recorder) now() int64 { return int64(time.Since(r.start)) }

func (r *recorder) note(ops ...linear.Op) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops = append(r.ops, ops...)
	for _, o := range ops {
		if o.Outcome == linear.Done && (o.Kind == linear.Open || o.Kind == linear.Extend || o.Kind == linear.Release) {
			r.acks++
		}
	}
}

// acknowledged is how many writes of records were.
func (r *recorder) acknowledged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.acks
}

func (r *recorder) history() []linear.Op {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ops
}

// timeout bounds a search that takes well below a second.
const timeout = 5 * time.Minute

// judge fails the test unless the history is linearizable.
func judge(t *testing.T, history []linear.Op) {
	t.Helper()
	start := time.Now()
	verdict := linear.Check(history, timeout)
	t.Logf("%s; judged in %v", tally(history), time.Since(start).Round(time.Millisecond))
	switch verdict.Result {
	case porcupine.Ok:
		return
	case porcupine.Unknown:
		t.Errorf("no verdict on worker ID %d within %v: that is neither right nor wrong; the history is in %s", verdict.Worker, timeout, shown(t, verdict))
		return
	}
	until := verdict.Until
	var last strings.Builder
	for _, o := range until[max(0, len(until)-25):] {
		fmt.Fprintf(&last, "\n%12d %12d  client %2d: %v", o.Call, o.Return, o.Client, o)
	}
	t.Errorf("worker ID %d: what happened cannot be explained by one call after the other; see %s in a browser. The last calls, by their ends (in ns):%s",
		verdict.Worker, shown(t, verdict), last.String())
}

// shown writes the history for a browser, and says where. It outlives the test.
func shown(t *testing.T, verdict linear.Verdict) string {
	t.Helper()
	file, err := os.CreateTemp("", "flakeward-linear-*.html")
	if err != nil {
		return err.Error()
	}
	defer file.Close()
	if err := porcupine.Visualize(linear.Model(), verdict.Info, file); err != nil {
		return err.Error()
	}
	return file.Name()
}

// least is how many a history must have on the average of each thing that it is made for; twelve
// had 7, 13 and 108 at the least.
const least = 3

// stir counts what there is to prove in a history: openings by another than the one before, losses,
// and outcomes that are unknown.
func stir(history []linear.Op) (taken, lost, unknown int) {
	holder := map[int]int{}
	for _, o := range history {
		switch {
		case o.Outcome == linear.Unknown:
			unknown++
		case o.Outcome == linear.Lost && o.Kind != linear.End:
			lost++
		case o.Outcome == linear.Done && o.Kind == linear.Open:
			if before, ok := holder[o.Worker]; ok && before != o.Client {
				taken++
			}
			holder[o.Worker] = o.Client
		}
	}
	return taken, lost, unknown
}

func TestStir(t *testing.T) {
	taken, lost, unknown := stir([]linear.Op{
		{Kind: linear.Open, Client: 1}, {Kind: linear.Open, Worker: 1, Client: 2}, {Kind: linear.Open, Client: 1}, {Kind: linear.Open, Client: 3}, {Kind: linear.Read, Client: 4},
		{Kind: linear.End, Outcome: linear.Lost}, {Kind: linear.Extend, Outcome: linear.Lost}, {Kind: linear.Release, Outcome: linear.Lost},
		{Kind: linear.Open, Outcome: linear.Unknown, Client: 5}, {Kind: linear.Extend, Outcome: linear.Unknown}, {Kind: linear.Release, Outcome: linear.Unknown},
	})
	if taken != 1 || lost != 2 || unknown != 3 {
		t.Errorf("%d openings by another, %d losses, %d unknown outcomes", taken, lost, unknown)
	}
}

// tally counts what a history has.
func tally(history []linear.Op) string {
	kinds := []string{linear.Open: "openings", linear.Extend: "extends", linear.Release: "releases", linear.End: "ends of claims", linear.Doom: "doomed", linear.Raise: "raises", linear.Read: "reads"}
	counts := map[linear.Kind]*[3]int{}
	continued := 0
	for _, o := range history {
		if counts[o.Kind] == nil {
			counts[o.Kind] = new([3]int)
		}
		counts[o.Kind][o.Outcome]++
		if o.Kind == linear.Open && o.Outcome == linear.Done && o.Continues {
			continued++
		}
	}
	parts := []string{fmt.Sprintf("%d operations (done/lost/unknown)", len(history))}
	for kind, name := range kinds {
		if n := counts[linear.Kind(kind)]; n != nil {
			parts = append(parts, fmt.Sprintf("%d/%d/%d %s", n[linear.Done], n[linear.Lost], n[linear.Unknown], name))
		}
	}
	return strings.Join(append(parts, fmt.Sprintf("%d openings continued", continued)), ", ")
}
