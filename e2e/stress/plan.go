package main

import (
	"math/rand/v2"
	"time"
)

// end is how a life ends.
type end uint8

const (
	killedUnderLoad end = iota
	killedAtStart       // as soon as it has logged life.At, before clients ask for anything
	stopped             // by SIGTERM, under load
)

// stepped is when the clock is stepped.
type stepped uint8

const (
	notStepped stepped = iota
	before             // between the end of the life before and the start
	during             // while clients pull
)

// life is what is done to one daemon.
type life struct {
	End    end
	At     string // with killedAtStart
	After  uint64 // IDs that have reached clients when it is ended
	Step   stepped
	Offset time.Duration // of the clock, from the step on
}

const (
	lowestOffset  = -time.Hour
	highestOffset = time.Second
	// Of so many kills, one comes with another at the start before it, and one comes right after
	// the first ID.
	startEvery = 8
	firstOnly  = 10
)

// What a daemon logs on its way to the first ID.
const (
	joinedMessage = "joined the cluster"
	holdsMessage  = "holds a worker ID"
	readyMessage  = "ready"
)

// plan makes the lives: kills of them end with SIGKILL under load, and in half of those the clock
// is stepped, now before and now during. Between them some are killed while they start, and two are
// stopped, the last life being one. Together the lives get about ids IDs.
func plan(random *rand.Rand, kills int, ids uint64) []life {
	withStep := make([]bool, kills)
	for _, i := range random.Perm(kills)[:kills/2] {
		withStep[i] = true
	}
	mean := max(1, ids/uint64(kills))
	var lives []life
	var offset time.Duration
	steps := 0
	for i := range kills {
		if i%startEvery == startEvery-1 {
			at := []string{joinedMessage, holdsMessage, readyMessage}[random.IntN(3)]
			lives = append(lives, life{End: killedAtStart, At: at, Offset: offset})
		}
		if i == kills/2 {
			lives = append(lives, life{End: stopped, After: mean / 2, Offset: offset})
		}
		l := life{After: 1 + random.Uint64N(2*mean), Offset: offset}
		if i%firstOnly == firstOnly-1 {
			l.After = 1
		}
		if withStep[i] {
			l.Step = []stepped{before, during}[steps%2]
			l.Offset = nextOffset(random, offset)
			offset = l.Offset
			steps++
		}
		lives = append(lives, l)
	}
	return append(lives, life{End: stopped, After: mean / 2, Offset: offset})
}

// nextOffset is anywhere within the bounds, or near the offset before, for the daemon does
// something else at each distance: it sleeps, it uses its ring, it waits for its own mark, it takes
// another worker ID; ahead, it comes to its mark or to its grant's end.
func nextOffset(random *rand.Rand, from time.Duration) time.Duration {
	low, high := lowestOffset, highestOffset
	switch random.IntN(7) {
	case 0:
		low, high = from-10*time.Millisecond, from+10*time.Millisecond
	case 1:
		low, high = from-time.Second, from
	case 2:
		low, high = from-3*time.Second, from
	case 3:
		low, high = from, from+2*time.Second
	case 4:
		low, high = from, from+5*time.Minute
	}
	low, high = max(low, lowestOffset), min(high, highestOffset)
	return low + time.Duration(random.Int64N(int64(high-low)+1))
}
