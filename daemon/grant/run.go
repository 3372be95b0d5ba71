package grant

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

const (
	// callTimeout bounds one exchange with the coordinator. A write whose outcome is unknown is
	// asked about again, so nothing is lost by giving up early.
	callTimeout = 3 * time.Second
	// firstTimeout bounds a claim while nothing is served that a quicker answer could help: many
	// daemons may be claiming at once.
	firstTimeout = 15 * time.Second
	// lastTimeout bounds the question whether the coordinator is there for giving a worker ID back.
	// Whoever stops a daemon waits for it, often with a limit of ten seconds.
	lastTimeout = 2 * time.Second
	// firstRetry and lastRetry bound the time between tries that fail.
	firstRetry = 50 * time.Millisecond
	lastRetry  = time.Second
)

// demand is what requests ask of the coordinator's side.
type demand struct {
	unwanted atomic.Pointer[generator.Lane] // the lane for which another worker ID was asked
	why      atomic.Value                   // string: why it was asked for
	wake     chan struct{}                  // has Holder.Hold see to it
	expired  atomic.Bool                    // a session has expired: the claim may be lost
}

// reLease asks for another worker ID than the lane's.
func (d *demand) reLease(lane *generator.Lane, why string) {
	d.why.Store(why)
	if d.unwanted.Swap(lane) != lane {
		notify(d.wake)
	}
}

// ReLease implements issue.Owner.
func (k *Holder) ReLease(lane *generator.Lane) { k.demand.reLease(lane, string(condition.ClockBehind)) }

// ExtendNow implements issue.Owner.
func (k *Holder) ExtendNow() { notify(k.demand.wake) }

// SessionExpired has Hold find out within a Publish whether the claim is lost, as if something had been
// issued: the others tell by the claim that this daemon lives.
func (k *Holder) SessionExpired() { k.demand.expired.Store(true) }

// CanAcquire implements issue.Owner.
func (k *Holder) CanAcquire() bool { return k.contact.canAcquire() }

// Hold holds a worker ID until ctx ends: it claims, extends, claims another where one was lost, and
// changes a worker ID that a request asked to have changed. Attach has been called before. It
// returns an error only if the coordinator is another cluster's now, or in a copy: ErrCopied.
func (k *Holder) Hold(ctx context.Context) error {
	retry := firstRetry
	for ctx.Err() == nil {
		err := k.holdOnce(ctx)
		switch {
		case err == nil:
			retry = firstRetry
			k.pauseHolding(ctx)
			continue
		case errors.Is(err, coord.ErrOtherCluster):
			k.Revoke()
			return err
		case errors.Is(err, ErrCopied):
			return err
		}
		if other := k.contact.lookAgain(ctx, k.claimer.coord, err, k.Timing.Publish); other != nil {
			k.Revoke()
			return other
		}
		d := k.pace.jitter(retry)
		var held *coord.ExhaustedError
		if errors.As(err, &held) && k.held.snapshot().current.claim == nil {
			d = max(d, k.contact.backoff.left()) // there is nothing to extend meanwhile
		}
		k.Log.Debug("the coordinator request failed; retrying", "error", err, "retry_in", d)
		k.pace.pause(ctx, d, nil)
		retry = min(2*retry, lastRetry)
	}
	return nil
}

// errRevoked is what Hold meets after somebody else has found out.
var errRevoked = fmt.Errorf("all that was held is revoked: %w", coord.ErrOtherCluster)

// holdOnce does what is due now.
func (k *Holder) holdOnce(ctx context.Context) error {
	s := k.held.snapshot()
	cur := s.current
	unwanted := k.demand.unwanted.Load()
	defer k.demand.unwanted.CompareAndSwap(unwanted, nil)
	if s.draining.lane != nil && s.draining.lane.Closed() {
		// What an earlier try did not give back goes first: there is room for one.
		if err := k.pace.within(ctx, callTimeout, k.claimer.leave); err != nil {
			return err
		}
	}
	if cur.claim != nil && !cur.lane.Closed() && (unwanted == nil || unwanted != cur.lane) {
		err := k.pace.within(ctx, callTimeout, k.claimer.publish)
		if !errors.Is(err, coord.ErrLost) {
			return err
		}
		k.Events.Happened(codeOf(err))
		k.why = string(codeOf(err))
		k.Log.Warn("the claim is lost; claiming again", "code", codeOf(err), "worker", cur.worker, "reason", err, "do", codeOf(err).Do())
	}
	if unwanted != nil && unwanted == cur.lane {
		k.why, _ = k.demand.why.Load().(string)
		return k.pace.within(ctx, callTimeout, func(ctx context.Context) error { return k.Acquire(ctx, true) })
	}
	// As long as the lane has a grant to go on with, only a worker ID that serves at once is better.
	serves := cur.ceiling() > k.pace.latest()
	return k.pace.within(ctx, firstTimeout, func(ctx context.Context) error { return k.Acquire(ctx, serves) })
}

// Acquire claims a worker ID, and has it granted: after it returns without an error the issuer uses
// the lane. With fresh it is another worker ID than the one held, and one whose floor the caller need
// not wait for long.
func (k *Holder) Acquire(ctx context.Context, fresh bool) error {
	begun, was := k.pace.now().Mono, k.held.snapshot().current.worker
	if err := k.claimer.acquire(ctx, fresh); err != nil {
		return err
	}
	h := k.held.snapshot().current
	if wait := time.Duration(k.Layout.UnixNanos(h.lane.Floor()+1) - k.pace.now().Wall); wait > k.pace.restartWait {
		k.Events.Happened(condition.FloorAhead)
		k.Log.Warn("the worker ID may have been issued from up to a time that the clock has not reached; no ID until then",
			"code", condition.FloorAhead, "worker", h.worker, "until", k.Layout.StartOf(h.lane.Floor()+1), "do", condition.FloorAhead.Do())
	}
	k.Log.Info("holds a worker ID", append([]any{
		"worker", h.worker, "floor", h.lane.Floor(), "took", time.Duration(k.pace.now().Mono - begun).Round(time.Microsecond),
	}, k.changed(was, h.worker)...)...)
	return nil
}

// changed returns what a line says of a worker ID that is another one than before, or is claimed
// anew.
func (k *Holder) changed(was, is int) (said []any) {
	why := k.why
	k.why = ""
	if was != coord.AnyWorker && was != is {
		said = append(said, "was", was)
	}
	if why != "" {
		said = append(said, "why", why)
	}
	return said
}

// pauseHolding waits until the grant is to be extended: half of it is left, or something was issued
// in a Publish, or a session has expired in it, or a request needs what only the coordinator can give.
func (k *Holder) pauseHolding(ctx context.Context) {
	now := k.pace.now().Mono
	due := now + clockguard.Mono(k.pace.jitter(k.Timing.Publish))
	// Up to a fifth more than half, so that daemons which were granted together do not stay together.
	reach := min(k.pace.reach(true), k.held.snapshot().current.granted-k.pace.tick())
	half := generator.Tick(float64(max(0, reach)/2) * (1 + k.pace.random()/5))
	for ctx.Err() == nil {
		pause := due.Sub(now)
		if left := k.held.snapshot().current.granted - k.pace.tick() - half; left > 0 {
			pause = min(pause, k.pace.span(left))
		}
		k.pace.pause(ctx, pause, k.demand.wake)
		now = k.pace.now().Mono
		cur := k.held.snapshot().current
		switch lane := k.demand.unwanted.Load(); {
		case lane != nil && lane == cur.lane:
			return
		case cur.granted-k.pace.tick() <= half && cur.granted < k.pace.furthest(k.pace.tick(), true):
			return
		case now < due:
		case k.demand.expired.Swap(false), cur.issued() != cur.told:
			return
		default:
			due = now + clockguard.Mono(k.pace.jitter(k.Timing.Publish))
		}
	}
}
