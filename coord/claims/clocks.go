package claims

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
)

// ClocksTimeout is how long a Store waits for what its servers' clocks show.
const ClocksTimeout = time.Second

// Shown is what a server's clock showed during one exchange with it.
type Shown struct {
	// Server names the server, for people to read.
	Server string
	// Time is what it showed, rounded down to a multiple of Unit.
	Time time.Time
	Unit time.Duration
	// Sent and Answered are when the exchange began and ended.
	Sent, Answered clockguard.Mono
	// Err, if not nil, is why the server did not tell. Only Server is set then.
	Err error
}

// Clocks implements coord.Coordinator.
func (c *Coordinator) Clocks(ctx context.Context) ([]coord.ServerClock, error) {
	var shown []Shown
	err := c.cluster.inCluster(ctx, func(j *cluster) (err error) {
		if ctx.Err() != nil {
			return fmt.Errorf("%s: ask for the time: not tried: %w", c.store.Name(), ctx.Err())
		}
		shown, err = c.store.Clocks(ctx, j.entry, c.clock)
		return err
	})
	if err != nil {
		return nil, err
	}
	now := c.clock.Now().Mono
	all := make([]coord.ServerClock, len(shown))
	for i, s := range shown {
		all[i] = s.at(now)
	}
	return all, nil
}

// at is what the clock shows now, if it goes on as this machine's does. During the exchange it
// showed Time at the earliest when that began, and almost a Unit more at the latest when it ended.
func (s Shown) at(now clockguard.Mono) coord.ServerClock {
	err := s.Err
	if err == nil && (s.Time.Before(first) || s.Time.After(last)) {
		err = errNoTime
	}
	if err != nil {
		return coord.ServerClock{Server: s.Server, Err: err}
	}
	took := s.Answered.Sub(s.Sent)
	return coord.ServerClock{
		Server: s.Server,
		Time:   s.Time.Add(s.Unit/2 + now.Sub(s.Sent) - took/2),
		Error:  (s.Unit + took + 1) / 2,
	}
}

// The first and the last time that a server may tell: a reading of a clock holds no other.
var (
	first = time.Unix(0, 0)
	last  = time.Date(2262, 1, 1, 0, 0, 0, 0, time.UTC)
)

var errNoTime = errors.New("what it told is before 1970 or after 2261")
