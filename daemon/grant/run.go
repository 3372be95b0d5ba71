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

// wakes are the two loops' alarm bells. Each holds one stroke.
type wakes struct{ disk, hold chan struct{} }

func newWakes() wakes { return wakes{disk: make(chan struct{}, 1), hold: make(chan struct{}, 1)} }

func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// requests is what requests ask of the coordinator's side.
type requests struct {
	unwanted  atomic.Pointer[generator.Lane] // the lane for which another worker ID was asked
	reachable atomic.Bool
	dry       atomic.Int64 // clockguard.Mono until which no worker ID is free
}

// ReLease implements issue.Owner.
func (k *Holder) ReLease(lane *generator.Lane) {
	if k.requests.unwanted.Swap(lane) != lane {
		ring(k.wakes.hold)
	}
}

// ExtendNow implements issue.Owner.
func (k *Holder) ExtendNow() {
	ring(k.wakes.disk)
	ring(k.wakes.hold)
}

// CanAcquire implements issue.Owner.
func (k *Holder) CanAcquire() bool {
	return k.requests.reachable.Load() && int64(k.now().Mono) >= k.requests.dry.Load()
}

// noted notes how an exchange with the coordinator ended, and returns err.
func (k *Holder) noted(err error) error {
	k.heard(err)
	could := k.CanAcquire()
	var full *coord.ExhaustedError
	var ahead *coord.AheadError
	none := errors.As(err, &full) || errors.As(err, &ahead)
	if none {
		k.requests.dry.Store(int64(k.now().Mono + clockguard.Mono(lastRetry)))
	}
	k.requests.reachable.Store(err == nil || none || errors.Is(err, coord.ErrLost))
	k.poison(err)
	if could != k.CanAcquire() {
		k.issuer.Changed() // requests that wait for another worker ID have to do without, or can have one
	}
	before := k.trouble.set(&k.trouble.coordinator, k.now(), err)
	switch lane := k.snapshot().current.lane; {
	case err == nil && before != nil:
		k.Log.Info("the coordinator grants")
	case err == nil || before != nil && before.Error() == err.Error(): // said before
	case lane != nil && !lane.Closed():
		k.Log.Warn("the grant is not extended; issuing goes on to its end", "error", err)
	default:
		k.Log.Warn("there is no worker ID to issue from; trying again", "error", err)
	}
	return err
}

// poison remembers an answer that no later failure to answer takes back. A coordinator that was
// restored or replaced may have lent what the journal holds to another.
func (k *Holder) poison(err error) {
	var restored *coord.RestoredError
	if errors.As(err, &restored) || errors.Is(err, coord.ErrOtherCluster) {
		k.Spent.poisoned.Store(true)
	}
}

// Mark renews the journal in time until ctx ends. It returns an error only if the journal must not
// be written any more: journal.ErrMoved or ErrCopied.
func (k *Holder) Mark(ctx context.Context) error {
	// A quarter of a step: one late wake-up still comes before the half that is left is used up.
	every := k.Layout.TickLength() * time.Duration(k.step) / 4
	for ctx.Err() == nil {
		err := k.Renew()
		bell := k.wakes.disk
		if errors.Is(err, journal.ErrMoved) || errors.Is(err, ErrCopied) {
			return err
		}
		if err != nil {
			bell = nil // requests would ring it at once
		}
		k.pause(ctx, min(every, lastRetry), bell)
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
			k.pauseHolding(ctx, k.jitter(k.Timing.Publish))
			continue
		case errors.Is(err, coord.ErrOtherCluster):
			k.Abandon()
			return err
		case errors.Is(err, ErrCopied):
			return err
		}
		if other := k.lookAgain(ctx, err); other != nil {
			k.Abandon()
			return other
		}
		k.Log.Debug("a try with the coordinator failed", "error", err, "again in", retry)
		k.pause(ctx, k.jitter(retry), nil)
		retry = min(2*retry, lastRetry)
	}
	return nil
}

// Abandon ends all that was issued for a cluster that is no more: in the one that has taken its
// place the worker IDs may be others'. It is final, and may be called from any goroutine: a claim
// that is being taken meanwhile is abandoned as well.
func (k *Holder) Abandon() {
	k.mu.Lock()
	k.state.abandoned = true
	k.revoke(&k.state)
	k.mu.Unlock()
	k.issuer.Changed()
}

// revoke ends what s holds if the cluster was abandoned. The caller holds mu.
func (k *Holder) revoke(s *state) {
	if !s.abandoned {
		return
	}
	for _, h := range []*holding{&s.current, &s.draining} {
		k.end(*h)
		h.claim, h.granted = nil, 0
	}
}

// errAbandoned is what a lane meets after another has found out.
var errAbandoned = fmt.Errorf("all that was held is abandoned: %w", coord.ErrOtherCluster)

// holdOnce does what is due now.
func (k *Holder) holdOnce(ctx context.Context) error {
	if err := k.keepLimit(); err != nil {
		return err
	}
	s := k.snapshot()
	cur := s.current
	unwanted := k.requests.unwanted.Load()
	defer k.requests.unwanted.CompareAndSwap(unwanted, nil)
	if s.draining.lane != nil && s.draining.lane.Closed() {
		// What an earlier try did not give back goes first: there is room for one.
		if err := k.within(ctx, callTimeout, k.leave); err != nil {
			return err
		}
	}
	if k.pending == nil && cur.claim != nil && !cur.lane.Closed() && (unwanted == nil || unwanted != cur.lane) {
		err := k.within(ctx, callTimeout, k.Publish)
		if !errors.Is(err, coord.ErrLost) {
			return err
		}
		k.Log.Warn("the claim is lost; claiming again", "worker", cur.worker, "reason", err)
	}
	if unwanted != nil && unwanted == cur.lane {
		return k.within(ctx, callTimeout, func(ctx context.Context) error { return k.acquire(ctx, true) })
	}
	return k.within(ctx, firstTimeout, func(ctx context.Context) error { return k.acquire(ctx, false) })
}

// within bounds one exchange.
func (k *Holder) within(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	ctx, cancel := clockguard.WithTimeout(ctx, k.Clock, limit)
	defer cancel()
	return do(ctx)
}

func (k *Holder) acquire(ctx context.Context, fresh bool) error {
	begun := k.now().Mono
	if err := k.Acquire(ctx, fresh); err != nil {
		return err
	}
	h := k.snapshot().current
	if wait := time.Duration(k.Layout.UnixNanos(h.lane.Floor()+1) - k.now().Wall); wait > k.FirstWait {
		k.Log.Warn("the worker ID may have been issued from up to a time that the clock has not reached; no ID until then",
			"worker", h.worker, "until", k.Layout.StartOf(h.lane.Floor()+1).Format(time.RFC3339Nano))
	}
	k.Log.Info("holds a worker ID", "worker", h.worker, "floor", h.lane.Floor(), "took", time.Duration(k.now().Mono-begun).Round(time.Microsecond))
	return nil
}

// pauseHolding waits until the next grant is due, or a request needs what only the coordinator can
// give.
func (k *Holder) pauseHolding(ctx context.Context, d time.Duration) {
	end := k.now().Mono + clockguard.Mono(d)
	for ctx.Err() == nil {
		left := time.Duration(end - k.now().Mono)
		if left <= 0 {
			return
		}
		k.pause(ctx, left, k.wakes.hold)
		cur := k.snapshot().current
		if lane := k.requests.unwanted.Load(); lane != nil && lane == cur.lane {
			return
		}
		if cur.granted-k.tick() < k.window/2 {
			return // the clock has run ahead of the grant
		}
	}
}

// pause waits for d, a stroke of bell, or the end of ctx.
func (k *Holder) pause(ctx context.Context, d time.Duration, bell <-chan struct{}) {
	clockguard.Pause(ctx, k.Clock, d, bell)
}

// jitter changes d by up to a tenth either way, so that daemons which started together do not stay
// together.
func (k *Holder) jitter(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.9 + 0.2*k.Random()))
}
