//go:build e2e

package drills

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"time"
)

// blow is one fault of a storm.
type blow struct {
	kind  string
	host  int           // of a daemon, from 0; -1: of the coordinator
	after time.Duration // from the beginning of its gust
	lasts time.Duration
	clock time.Duration // what the host's clock is set off by meanwhile
	pick  int           // which member, where that is not told by the kind; 0 to 2
}

func (b blow) String() string {
	who := fmt.Sprintf("host-%d", b.host+1)
	if b.host < 0 {
		who = fmt.Sprintf("member %d", b.pick+1)
	}
	s := fmt.Sprintf("%s of %s after %v for %v", b.kind, who, b.after, b.lasts)
	if b.clock != 0 {
		s += " with the clock off by " + b.clock.String()
	}
	return s
}

// gust is what happens at once. All of it is healed when the next one begins.
type gust struct {
	blows []blow
	// calm: it begins only when every host serves and is granted more.
	calm bool
	// rush: the next one does not wait until every host serves again.
	rush bool
}

// The kinds of blows that hit a host.
const (
	blowClock       = "clock"
	blowOscillation = "oscillation"
	blowKill        = "kill"
	blowStop        = "stop"
	blowPause       = "pause"
	blowCutBoth     = "cut both ways"
	blowCutIn       = "cut in"
	blowCutOut      = "cut out"
	blowDiskLost    = "disk lost"
	blowClear       = "claim cleared" // some claim, by an operator on the host
)

// The kinds of blows that hit the coordinator.
const (
	blowLeader      = "leader killed"
	blowMemberPause = "member paused"
	blowMemberCut   = "member cut off"
	blowQuorum      = "two members killed"
	blowAll         = "all members killed"
)

// Each kind stands in its list as often as it comes before all have come.
var (
	hostBlows = []string{
		blowClock, blowClock, blowClock, blowClock, blowOscillation, blowKill, blowKill, blowKill, blowStop, blowPause, blowPause, blowCutBoth, blowCutIn, blowCutOut, blowDiskLost, blowClear,
	}
	memberBlows = []string{blowLeader, blowLeader, blowMemberPause, blowMemberCut, blowQuorum, blowAll}
	offsets     = []time.Duration{
		time.Millisecond, 3 * time.Millisecond, 20 * time.Millisecond, 150 * time.Millisecond, 700 * time.Millisecond, 1500 * time.Millisecond,
		5 * time.Second, 30 * time.Second, time.Hour,
		-time.Millisecond, -3 * time.Millisecond, -20 * time.Millisecond, -150 * time.Millisecond, -700 * time.Millisecond, -1500 * time.Millisecond,
		-5 * time.Second, -30 * time.Second, -time.Hour,
	}
)

const (
	stormHosts   = 3
	longestBlow  = 5 * time.Second // longer than a session, shorter than the window
	shortestBlow = 200 * time.Millisecond
)

// deck deals all of its cards in an order left to chance before it deals one of them again.
type deck[T any] struct{ cards, left []T }

func (d *deck[T]) deal(rng *rand.Rand) T {
	if len(d.left) == 0 {
		d.left = slices.Clone(d.cards)
		rng.Shuffle(len(d.left), func(i, j int) { d.left[i], d.left[j] = d.left[j], d.left[i] })
	}
	card := d.left[0]
	d.left = d.left[1:]
	return card
}

// forecast is the storm that a seed names, for one coordinator: gust after gust, without an end,
// the same each time.
type forecast struct {
	rng           *rand.Rand
	hosts, member deck[string]
	clocks        deck[time.Duration]
}

func newForecast(seed int64, coordinator string) *forecast {
	h := fnv.New64a()
	h.Write([]byte(coordinator)) // a hash's never fails
	return &forecast{
		rng:   rand.New(rand.NewPCG(uint64(seed), h.Sum64())),
		hosts: deck[string]{cards: hostBlows}, member: deck[string]{cards: memberBlows}, clocks: deck[time.Duration]{cards: offsets},
	}
}

func (f *forecast) between(low, high time.Duration) time.Duration {
	return (low + time.Duration(f.rng.Int64N(int64(high-low)))).Truncate(time.Millisecond)
}

// next is the next gust: from 1 to 4 blows, each on a host of its own or on the coordinator.
func (f *forecast) next() gust {
	var g gust
	for _, host := range f.rng.Perm(stormHosts)[:1+f.rng.IntN(stormHosts)] {
		b := blow{kind: f.hosts.deal(f.rng), host: host, pick: f.rng.IntN(3), after: f.between(0, time.Second), lasts: f.between(shortestBlow, longestBlow)}
		restarts := b.kind == blowKill || b.kind == blowStop
		if b.kind == blowClock || restarts && f.rng.IntN(2) == 0 {
			b.clock = f.clocks.deal(f.rng)
		}
		// The coordinator has to be there for an operator.
		g.calm = g.calm || b.kind == blowClear
		g.blows = append(g.blows, b)
	}
	g.rush = f.rng.IntN(3) == 0
	if !g.calm && f.rng.IntN(2) == 0 {
		g.blows = append(g.blows, blow{
			kind: f.member.deal(f.rng), host: -1, pick: f.rng.IntN(3), after: f.between(0, time.Second), lasts: f.between(shortestBlow, longestBlow),
		})
	}
	return g
}
