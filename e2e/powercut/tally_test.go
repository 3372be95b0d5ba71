//go:build linux

package powercut

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flakeward/flakeward/e2e/powercut/forgetfs"
)

// tally is what was seen of one history, or of all.
type tally struct {
	mu      sync.Mutex
	cuts    int
	early   int            // of them, before the daemon served
	late    int            // of them, while or after it stopped
	after   int            // of them, those that let the flush take effect
	of      map[string]int // of them, by what was flushed
	stepped int            // clocks that were set back in between

	starts   []time.Duration // from a start to its first ID
	fresh    []int           // flushes of a start on an empty disk until its first ID
	ids      uint64
	repeated uint64

	compared    int // IDs that were compared with the record of their worker ID after the cut
	aboveRecord int // of them, those above its ceiling
}

// spareFile is the kind of a flush on a full disk, where a record is exchanged with the spare file.
const spareFile = "spare file"

// kind is what a flush was of.
func kind(f forgetfs.Flush) string {
	switch {
	case f.Number == 0:
		return "no flush"
	case isSpare(f.Path):
		return spareFile
	case isRecord(f.Path) && f.Directory:
		return "names of records"
	case isRecord(f.Path):
		return "file of the directory"
	case f.Directory:
		return "names"
	default:
		return "other file"
	}
}

// cut counts one.
func (t *tally) cut(at forgetfs.Flush, c cut, served bool) {
	t.cuts++
	if t.of == nil {
		t.of = make(map[string]int)
	}
	t.of[kind(at)]++
	switch {
	case !served:
		t.early++
	case c.from == stopping:
		t.late++
	}
	if c.after {
		t.after++
	}
}

// add adds a history's, which is over.
func (t *tally) add(o *tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cuts += o.cuts
	t.early += o.early
	t.late += o.late
	t.after += o.after
	t.stepped += o.stepped
	if t.of == nil {
		t.of = make(map[string]int)
	}
	for k, n := range o.of {
		t.of[k] += n
	}
	t.starts = append(t.starts, o.starts...)
	t.fresh = append(t.fresh, o.fresh...)
	t.ids += o.ids
	t.repeated += o.repeated
	t.compared += o.compared
	t.aboveRecord += o.aboveRecord
}

func (t *tally) String() string {
	var of []string
	for k, n := range t.of {
		of = append(of, fmt.Sprintf("%s %d", k, n))
	}
	slices.Sort(of)
	slices.Sort(t.starts)
	text := fmt.Sprintf("%d cuts (%s), %d with the flush done and %d without, %d before the daemon served and %d as it stopped; %d clocks set back; %d IDs, %d duplicates, %d compared with a record",
		t.cuts, strings.Join(of, ", "), t.after, t.cuts-t.after, t.early, t.late, t.stepped, t.ids, t.repeated, t.compared)
	if n := len(t.starts); n > 0 {
		text += fmt.Sprintf("; %d daemons served, after %v (median), %v (99 in 100), %v (longest)", n,
			t.starts[n/2].Round(time.Millisecond), t.starts[n*99/100].Round(time.Millisecond), t.starts[n-1].Round(time.Millisecond))
	}
	return text + fmt.Sprintf("; flushes of first starts %v", t.fresh)
}
