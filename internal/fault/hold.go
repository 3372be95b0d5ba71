//go:build drill

package fault

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// held is what the variable HoldTakes said when the process started: "100/50ms" holds, of the Takes
// that come to a tick first, each hundredth, for 50 ms.
var held, heldErr = parseHold(os.Getenv(HoldTakes))

// holding is which Takes are held. With each = 0 none is.
type holding struct {
	each   uint64
	long   time.Duration
	firsts *atomic.Uint64 // Takes that came to their tick first
}

func parseHold(text string) (holding, error) {
	if text == "" {
		return holding{}, nil
	}
	n, d, _ := strings.Cut(text, "/")
	each, errEach := strconv.ParseUint(n, 10, 32)
	long, errLong := time.ParseDuration(d)
	if errEach != nil || errLong != nil || each < 1 || long <= 0 {
		return holding{}, fmt.Errorf("$%s is %q: write which of the Takes are held and for how long, such as 100/50ms", HoldTakes, text)
	}
	return holding{each: each, long: long, firsts: new(atomic.Uint64)}, nil
}

// Check returns what is wrong with the variable HoldTakes.
func Check() error { return heldErr }

// Hold stops a Take between its first look at the ceiling and the number, as a preempted thread
// would be stopped there. It does so if it is the Take's turn and the slot is below word, the
// tick's first: only a Take that comes to its tick first could give out a tick that Close has not
// seen.
func Hold(slot *atomic.Uint64, word uint64) {
	h := held
	if h.each == 0 || slot.Load() >= word || h.firsts.Add(1)%h.each != 0 {
		return
	}
	<-time.NewTimer(h.long).C // a preempted thread knows no injected clock
}

// HoldEach makes Hold stop each of the nth Takes from now on, for tests, until restore is called.
func HoldEach(nth uint64, long time.Duration) (restore func()) {
	before := held
	held = holding{each: nth, long: long, firsts: new(atomic.Uint64)}
	return func() { held = before }
}

// Held is how many Takes have come to their tick first.
func Held() uint64 { return held.firsts.Load() }
