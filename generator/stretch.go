//go:build drill

package generator

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// StretchVariable names the environment variable that makes Takes of a drill build
// stop between their first look at the ceiling and the number, as a thread would
// that is preempted there: "100/50ms" holds, of those that come to a tick first,
// each hundredth, for 50 ms. Only those could give out a tick that Close has not
// seen. It is read when the process starts.
const StretchVariable = "FLAKEWARD_DRILL_STRETCH"

var stretched, stretchedErr = parseStretch(os.Getenv(StretchVariable))

// stretches is what the variable says. With each = 0 nothing is held.
type stretches struct {
	each   uint64
	long   time.Duration
	firsts *atomic.Uint64 // Takes that came to their tick first
}

func parseStretch(text string) (stretches, error) {
	if text == "" {
		return stretches{}, nil
	}
	n, d, _ := strings.Cut(text, "/")
	each, errEach := strconv.ParseUint(n, 10, 32)
	long, errLong := time.ParseDuration(d)
	if errEach != nil || errLong != nil || each < 1 || long <= 0 {
		return stretches{}, fmt.Errorf("$%s is %q: write which of the Takes are held and for how long, such as 100/50ms", StretchVariable, text)
	}
	return stretches{each: each, long: long, firsts: new(atomic.Uint64)}, nil
}

// stretching returns what is wrong with the variable.
func stretching() error { return stretchedErr }

// stretch holds the caller if it is its turn.
func (ln *Lane) stretch(slot *atomic.Uint64, t Tick) {
	s := stretched
	if s.each == 0 || Tick(slot.Load()>>ln.usedBits) >= t || s.firsts.Add(1)%s.each != 0 {
		return
	}
	<-time.NewTimer(s.long).C //permit:time.NewTimer -- a preempted thread knows no other clock
}
