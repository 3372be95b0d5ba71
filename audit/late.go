package audit

import (
	"fmt"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// excuses are the IDs at or below the floor of a lane that were taken for those of the lane before,
// recorded late. Whether they can have been is told by the replies: that lane was closed before the
// first grant of the other was asked for, so nobody who asked after that got anything from it.
//
// This cannot see IDs below the floor, in the first second of a lane, that no client received.
type excuses map[excused]claim

// excused is one tick of one lane of a host.
type excused struct {
	host  int
	group key
}

// claim is the last one after which IDs of that tick were recorded.
type claim struct {
	at    evidence.Mono // as former has it
	start *start
	floor generator.Tick
}

// recordedLate notes an ID that counts for the lane before.
func (g *grants) recordedLate(b *former, now *lane, k key) {
	g.excuses[excused{g.start.host, g.group(k)}] = claim{b.at, g.start, now.under.floor}
}

// excuse judges IDs that a client of a host received.
func (j *court) excuse(h int, r *evidence.Reply, next row) {
	c, ok := j.excuses[excused{h, j.group(next.from)}]
	if !ok || r.Asked <= c.at {
		return
	}
	j.verdict.against(Disjoint, BelowFloor, uint64(next.n), func() string {
		return fmt.Sprintf("%s, %d in a row, was asked for at %s; at %s %s had asked for the first grant of a new claim of the worker ID, with floor %d", j.describe(next.from), next.n,
			j.when(r.Asked), j.when(c.at), j.startName(c.start), c.floor)
	})
}
