package audit

import (
	"fmt"
	"maps"
	"slices"

	"github.com/flakeward/flakeward/audit/evidence"
	"github.com/flakeward/flakeward/generator"
)

// timeline judges all requests by Skewed: of two on different hosts, one answered before the other
// was asked, the later's tick is lower by at most as much as the earlier's clock may have been
// ahead of the later's, a tick, and, while the later's clock may be behind what it issued, the
// ring's span.
//
// For each host and each offset that its clock may have had, it keeps when each tick was first
// given. A request is behind if one more than the skew above its own was given before it was asked:
// so no order of all requests by time is needed.
type timeline struct {
	*court
	clocks []*clock
	tracks map[track]*given
	all    []*given
}

type track struct {
	host int
	high int64 // how far ahead the clock may have been
}

// given is when the ticks of a track were first given.
type given struct {
	track
	first map[generator.Tick]earliest
	last  generator.Tick // of the newest entry, and when it was given
	since evidence.Mono

	ticks []generator.Tick // rising
	from  []earliest       // the earliest of that tick and all above it
}

type earliest struct {
	at evidence.Mono
	id key
}

func newTimeline(j *court, clocks []*clock) *timeline {
	return &timeline{court: j, clocks: clocks, tracks: map[track]*given{}}
}

// gave notes a row of a reply.
func (t *timeline) gave(h int, r *evidence.Reply, next row) {
	at := track{h, t.clocks[h].between(t.workerOf(next.from), r.Asked, r.Answered).high}
	g := t.tracks[at]
	if g == nil {
		g = &given{track: at, first: map[generator.Tick]earliest{}, last: none}
		t.tracks[at] = g
		t.all = append(t.all, g)
	}
	tick := t.tickOf(next.from)
	if tick == g.last && r.Answered >= g.since {
		return
	}
	if m, ok := g.first[tick]; !ok || r.Answered < m.at {
		g.first[tick] = earliest{r.Answered, next.from}
		m.at = r.Answered
	}
	g.last, g.since = tick, g.first[tick].at
}

// ready sorts what was given.
func (t *timeline) ready() {
	for _, g := range t.all {
		g.ticks = slices.Sorted(maps.Keys(g.first))
		g.from = make([]earliest, len(g.ticks))
		for i := len(g.ticks) - 1; i >= 0; i-- {
			g.from[i] = g.first[g.ticks[i]]
			if i+1 < len(g.ticks) && g.from[i+1].at < g.from[i].at {
				g.from[i] = g.from[i+1]
			}
		}
		g.first = nil
	}
}

// judge judges a request.
func (t *timeline) judge(h int, r *evidence.Reply) error {
	lowest := key(-1)
	err := t.rows(*r, func(whole bool, _ evidence.Run, next row) {
		if whole && (lowest < 0 || next.from < lowest) {
			lowest = next.from // the time is the highest field of a key
		}
	})
	if err != nil || lowest < 0 {
		return err
	}
	now := t.clocks[h].between(t.workerOf(lowest), r.Asked, r.Answered)
	for _, g := range t.all {
		if g.host == h {
			continue
		}
		skew := t.ticks(g.high-now.low) + 1
		if now.behind {
			skew += t.span
		}
		i, _ := slices.BinarySearch(g.ticks, t.tickOf(lowest)+skew+1)
		if i == len(g.ticks) || g.from[i].at >= r.Asked {
			continue
		}
		before := g.from[i]
		t.verdict.against(Skewed, Behind, 1, func() string {
			return fmt.Sprintf("%s was asked of %s at %s, after %s had given %s at %s: it is lower by %d ticks, and the clocks allow for %d", t.describe(lowest), t.sites[h].name,
				t.when(r.Asked), t.sites[g.host].name, t.describe(before.id), t.when(before.at), t.tickOf(before.id)-t.tickOf(lowest), skew)
		})
		return nil
	}
	return nil
}
