//go:build linux

package powercut

import (
	"fmt"
	"sync"
	"time"
)

// tally is what was seen of one history, or of all.
type tally struct {
	mu      sync.Mutex
	cuts    int
	spare   int           // of them, at a flush on a full disk, where a record is exchanged with the spare file
	stepped int           // clocks that were set back in between
	longest time.Duration // from a start to its first ID

	ids, repeated uint64
	compared      int // IDs that were compared with the record of their worker ID after the cut
	aboveRecord   int // of them, those above its ceiling
}

// add adds a history's, which is over.
func (t *tally) add(o *tally) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cuts += o.cuts
	t.spare += o.spare
	t.stepped += o.stepped
	t.longest = max(t.longest, o.longest)
	t.ids += o.ids
	t.repeated += o.repeated
	t.compared += o.compared
	t.aboveRecord += o.aboveRecord
}

func (t *tally) String() string {
	return fmt.Sprintf("%d cuts, %d at a spare file, %d clocks set back; %d IDs, %d duplicates, %d compared with a record; the slowest served after %v",
		t.cuts, t.spare, t.stepped, t.ids, t.repeated, t.compared, t.longest.Round(time.Millisecond))
}
