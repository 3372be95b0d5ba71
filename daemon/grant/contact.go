package grant

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
)

// contact is what a holder knows of its coordinator by how the last exchanges ended.
type contact struct {
	pace      *pace
	held      *holdings
	issuer    Issuer
	issued    *Issued
	published atomic.Int64 // when the coordinator has granted last, in known time, nanoseconds since 1970; 0: never
	log       hclog.Logger
	failure   failure
	reachable atomic.Bool
	backoff   backoff
	nextLook  clockguard.Mono // when the cluster's record may be looked at again; of the goroutine that runs Holder.Hold
}

// canAcquire reports whether another worker ID can be had, as far as is known.
func (c *contact) canAcquire() bool {
	return c.reachable.Load() && c.backoff.over()
}

// noted notes how an exchange ended, and returns err.
func (c *contact) noted(err error) error {
	could := c.canAcquire()
	none := c.backoff.none(err)
	c.reachable.Store(err == nil || none || errors.Is(err, coord.ErrLost))
	if !c.reachable.Load() {
		c.backoff.reset()
	}
	if could != c.canAcquire() {
		c.issuer.Changed() // requests that wait for another worker ID have to do without, or can have one
	}
	held := c.held.snapshot().current
	if none && held.extends() {
		c.log.Debug("no other worker ID is to be had", "error", err)
		return err // the one that is held is extended all the same
	}
	before := c.failure.set(c.pace.now(), err)
	switch lane := held.lane; {
	case err == nil && before != nil:
		c.log.Info("the coordinator has extended the grant")
	case err == nil || before != nil && before.Error() == err.Error(): // said before
	case lane != nil && !lane.Closed():
		c.log.Debug("the grant is not extended", "error", err) // package lifecycle says what follows
	default:
		c.log.Warn("no worker ID to issue from; retrying", "code", codeOf(err), "error", err, "do", codeOf(err).Do())
	}
	return err
}

// notJoined notes why the cluster could not be joined.
func (c *contact) notJoined(err error) {
	c.reachable.Store(err == nil)
	c.failure.set(c.pace.now(), err)
}

// joined notes that the coordinator has answered a start, which claims a worker ID now.
func (c *contact) joined() {
	if starting := c.failure.get(); starting != nil && starting.Code == condition.Starting {
		c.failure.set(c.pace.now(), errNoClaim)
	}
}

// lookAgain looks at the cluster's record after an answer that will not change any more, or from
// servers that answer this session no more: they went back to an earlier state, and the raise that
// follows a restore is to be seen. It does so once every so long. It returns coord.ErrOtherCluster,
// and no other error.
func (c *contact) lookAgain(ctx context.Context, coordinator coord.Coordinator, answer error, every time.Duration) error {
	var restored *coord.RestoredError
	now := c.pace.now().Mono
	if !errors.As(answer, &restored) && !errors.Is(answer, coord.ErrTurnedAway) || now < c.nextLook {
		return nil
	}
	c.nextLook = now + clockguard.Mono(c.pace.jitter(every))
	err := c.pace.within(ctx, callTimeout, func(ctx context.Context) error {
		_, err := coordinator.Look(ctx)
		c.issued.Learn(coordinator.Known)
		return err
	})
	if errors.Is(err, coord.ErrOtherCluster) {
		return fmt.Errorf("looked at the cluster's record again: %w", err)
	}
	if err != nil {
		c.log.Debug("the cluster's record could not be looked at", "error", err)
	}
	return nil
}
