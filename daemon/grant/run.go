package grant

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/journal"
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
	wake     chan struct{}                  // has Holder.Hold see to it
}

// reLease asks for another worker ID than the lane's.
func (d *demand) reLease(lane *generator.Lane) {
	if d.unwanted.Swap(lane) != lane {
		notify(d.wake)
	}
}

// ReLease implements issue.Owner.
func (k *Holder) ReLease(lane *generator.Lane) { k.demand.reLease(lane) }

// ExtendNow implements issue.Owner.
func (k *Holder) ExtendNow() {
	notify(k.held.wake)
	notify(k.demand.wake)
}

// CanAcquire implements issue.Owner.
func (k *Holder) CanAcquire() bool { return k.contact.canAcquire() }

// Mark renews the journal in time until ctx ends. It returns an error only if the journal must not
// be written any more: journal.ErrMoved or ErrCopied.
func (k *Holder) Mark(ctx context.Context) error {
	// A quarter of a step: one late wake-up still comes before the half that is left is used up.
	every := k.Layout.TickLength() * time.Duration(k.pace.step) / 4
	for ctx.Err() == nil {
		err := k.held.renew()
		wake := k.held.wake
		if errors.Is(err, journal.ErrMoved) || errors.Is(err, ErrCopied) {
			return err
		}
		if err != nil {
			wake = nil // requests would signal at once
		}
		k.pace.pause(ctx, min(every, lastRetry), wake)
	}
	return nil
}

// Hold holds a worker ID until ctx ends: it claims, extends, claims again what was lost, and
// changes a worker ID that a request asked to have changed. Attach has been called before. It
// returns an error only if the coordinator is another cluster's now, or in a copy: ErrCopied.
func (k *Holder) Hold(ctx context.Context) error {
	retry := firstRetry
	for ctx.Err() == nil {
		err := k.holdOnce(ctx)
		switch {
		case err == nil:
			retry = firstRetry
			k.pauseHolding(ctx, k.pace.jitter(k.Timing.Publish))
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
		k.Log.Debug("a try with the coordinator failed", "error", err, "again in", retry)
		k.pace.pause(ctx, k.pace.jitter(retry), nil)
		retry = min(2*retry, lastRetry)
	}
	return nil
}

// errRevoked is what a lane meets after another has found out.
var errRevoked = fmt.Errorf("all that was held is revoked: %w", coord.ErrOtherCluster)

// holdOnce does what is due now.
func (k *Holder) holdOnce(ctx context.Context) error {
	if err := k.held.keepLimit(); err != nil {
		return err
	}
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
	if k.claimer.unjournaled == nil && cur.claim != nil && !cur.lane.Closed() && (unwanted == nil || unwanted != cur.lane) {
		err := k.pace.within(ctx, callTimeout, k.claimer.publish)
		if !errors.Is(err, coord.ErrLost) {
			return err
		}
		k.Log.Warn("the claim is lost; claiming again", "worker", cur.worker, "reason", err)
	}
	if unwanted != nil && unwanted == cur.lane {
		return k.pace.within(ctx, callTimeout, func(ctx context.Context) error { return k.acquireTimed(ctx, true) })
	}
	return k.pace.within(ctx, firstTimeout, func(ctx context.Context) error { return k.acquireTimed(ctx, false) })
}

func (k *Holder) acquireTimed(ctx context.Context, fresh bool) error {
	begun := k.pace.now().Mono
	if err := k.claimer.acquire(ctx, fresh); err != nil {
		return err
	}
	h := k.held.snapshot().current
	if wait := time.Duration(k.Layout.UnixNanos(h.lane.Floor()+1) - k.pace.now().Wall); wait > k.pace.firstWait {
		k.Log.Warn("the worker ID may have been issued from up to a time that the clock has not reached; no ID until then",
			"worker", h.worker, "until", k.Layout.StartOf(h.lane.Floor()+1).Format(time.RFC3339Nano))
	}
	k.Log.Info("holds a worker ID", "worker", h.worker, "floor", h.lane.Floor(), "took", time.Duration(k.pace.now().Mono-begun).Round(time.Microsecond))
	return nil
}

// pauseHolding waits until the next grant is due, or a request needs what only the coordinator can
// give.
func (k *Holder) pauseHolding(ctx context.Context, d time.Duration) {
	end := k.pace.now().Mono + clockguard.Mono(d)
	for ctx.Err() == nil {
		left := time.Duration(end - k.pace.now().Mono)
		if left <= 0 {
			return
		}
		k.pace.pause(ctx, left, k.demand.wake)
		cur := k.held.snapshot().current
		if lane := k.demand.unwanted.Load(); lane != nil && lane == cur.lane {
			return
		}
		if cur.granted-k.pace.tick() < k.pace.window/2 {
			return // the clock has run ahead of the grant
		}
	}
}
