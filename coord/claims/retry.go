package claims

import (
	"context"
	"errors"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
)

// retryPause lies between the tries of a call that may not give up yet.
const retryPause = 50 * time.Millisecond

// lostRounds is how many lost rounds of a claim double the pause after them: a
// claimant that always comes too late makes a few requests each second.
const lostRounds = 4

// pause waits for d before a retry, or until ctx ends.
func pause(ctx context.Context, clock clockguard.Clock, d time.Duration) {
	if w, ok := clock.(clockguard.Waiter); ok {
		w.Pause(ctx, d, nil)
		return
	}
	// Not the clock's Sleep: one that is set by hand would stand still.
	waiting, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-waiting.Done()
}

// worthRetrying is false for errors that say that the request was refused.
func worthRetrying(err error) bool {
	var restored *coord.RestoredError
	var unserved *coord.NotServedError
	return !errors.Is(err, coord.ErrOtherCluster) && !errors.Is(err, ErrRefused) && !errors.Is(err, coord.ErrClosed) &&
		!errors.Is(err, coord.ErrLogin) && !errors.Is(err, coord.ErrAccess) &&
		!errors.As(err, new(*coord.LayoutError)) && !errors.As(err, &restored) && !errors.As(err, &unserved)
}
