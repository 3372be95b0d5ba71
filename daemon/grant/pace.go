package grant

import (
	"cmp"
	"errors"
	"math"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/generator"
)

// Timing is how far ahead ceilings are pushed, and how often.
type Timing struct {
	Window  time.Duration // the grant in the coordinator, until the cluster says its own
	Publish time.Duration // between two grants, while IDs are issued
}

// Window is how far ahead of the clock a grant of a process that is old enough reaches, in ticks:
// the cluster's window, as last heard.
func (k *Holder) Window() generator.Tick {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(4, cmp.Or(k.known.Window, k.Layout.Ticks(k.Timing.Window)))
}

// span is how long so many ticks of a length are, at the most what a time.Duration can say.
func span(ticks generator.Tick, length time.Duration) time.Duration {
	return time.Duration(min(ticks, generator.Tick(math.MaxInt64/length))) * length
}

func (k *Holder) now() clockguard.Reading { return k.Clock.Now() }

func (k *Holder) tick() generator.Tick { return k.Layout.TickAt(k.now().Wall) }

// latest is the highest floor that a fresh lane may wait for.
func (k *Holder) latest() generator.Tick { return k.tick() + k.Layout.Ticks(k.RestartWait) }

// How far a grant reaches beyond the clock while the process is young. A crash costs a worker ID
// until the clock has passed its grant, so a daemon that crashes again and again keeps few of them.
const (
	firstReach = 2 * time.Second  // of the first grant
	leastReach = 10 * time.Second // of the others: a session's life
)

// furthest is the ceiling that a grant may have now: as far beyond the clock as the process is old,
// and at most a window. Granted: there was a grant before.
func (k *Holder) furthest(now generator.Tick, granted bool) generator.Tick {
	age := k.now().Mono.Sub(k.born)
	reach := max(2, k.Layout.Ticks(max(age, leastReach)))
	if age < leastReach && !granted {
		reach = 2 + k.Layout.Ticks(firstReach)
	}
	return min(now+min(reach, k.Window()), k.Layout.MaxTick())
}

// jitter changes d by up to a tenth either way, so that who started together does not stay so.
func (k *Holder) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*k.Random()))
}

const (
	// firstRetry and lastRetry bound the pause after a step that failed, which doubles each time.
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
	// againHeld is how long a holder waits after the answer that all worker IDs are held: it costs
	// little, and a session may end at any time.
	againHeld = 1500 * time.Millisecond
	// againAhead is how long it waits at the most where the free ones are ahead of the clock.
	againAhead = 30 * time.Second
	// never is when a worker ID may be asked for while the coordinator does not answer.
	never = math.MaxInt64
)

// longer is the pause after one.
func longer(pause time.Duration) time.Duration { return min(max(firstRetry, 2*pause), lastRetry) }

// heard notes when a worker ID may be asked for, after an answer or none, and reports whether the
// answer was that there is none to be had.
func (k *Holder) heard(answer error) (noneFree bool) {
	wait := againHeld
	var ahead *coord.AheadError
	switch {
	case answer == nil, errors.Is(answer, coord.ErrLost):
		k.again.CompareAndSwap(never, 0)
		return false
	case errors.As(answer, &ahead):
		until := span(ahead.Lowest-ahead.Latest, k.Layout.TickLength())
		wait = min(max(lastRetry, until), againAhead)
	case !errors.As(answer, new(*coord.ExhaustedError)):
		k.again.Store(never)
		return false
	}
	wait = wait/2 + time.Duration(k.Random()*float64(wait/2)) // those who were told at once do not come back together
	k.again.Store(int64(k.now().Mono + clockguard.Mono(wait)))
	return true
}
