package grant

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

const (
	// callTimeout bounds one exchange with the coordinator. An unanswered write is sent again.
	callTimeout = 3 * time.Second
	// firstTimeout bounds one while there is no grant to extend: many daemons may be claiming.
	firstTimeout = 15 * time.Second
)

var (
	// errRevoked is what Hold meets after somebody else has found out.
	errRevoked = fmt.Errorf("all that was held is revoked: %w", coord.ErrOtherCluster)
	// ErrCopied means that this process is a copy of the one that the holder was made in: the
	// machine was started from a saved state. The claim and the session are the original's as well.
	// The holder sends nothing more, and its lanes give nothing; only another start can go on.
	ErrCopied = errors.New("the virtual machine was cloned or put back, so this process is a copy: " +
		"nothing more is issued from its worker IDs, which its original may still hold")
)

// barred says why nothing may be sent any more; nil if it may. A copy that is made after that does
// what its original does at that time: the same request, with its nonce, of a lane that both
// closed.
//
// A claim that comes back in a copy is not released: the copy cannot tell whether its original made
// the same one. Nothing was granted with it. If it is nobody's, its node bars its worker ID until
// the session ends that the copy has left.
func (k *Holder) barred() error {
	if k.Machine.Changed() {
		return ErrCopied
	}
	if k.revoked.Load() {
		return errRevoked
	}
	return nil
}

// ask makes one exchange with the coordinator. Whatever the answer, it may have told of a raise.
// Servers that went back to an earlier state tell of none: a raise must follow, so the cluster's
// record is looked at then, each Publish.
func (k *Holder) ask(ctx context.Context, do func(context.Context) error) error {
	if err := k.barred(); err != nil {
		return err
	}
	limit := firstTimeout
	if cur, _ := k.leases(); cur.claim != nil && cur.granted != 0 {
		limit = callTimeout
	}
	limited, cancel := clockguard.WithTimeout(ctx, k.Clock, limit)
	defer cancel()
	err := do(limited)
	k.Learn(k.coord.Known)
	restored := errors.As(err, new(*coord.RestoredError)) || errors.Is(err, coord.ErrTurnedAway)
	if now := k.now().Mono; restored && now >= k.lookAt {
		k.lookAt = now + clockguard.Mono(k.jitter(k.Timing.Publish))
		_ = k.ask(ctx, func(ctx context.Context) error {
			_, err := k.coord.Look(ctx)
			return err
		})
	}
	return err
}

// failed notes why a try to be granted more failed, and returns that.
func (k *Holder) failed(err error) error {
	if errors.Is(err, ErrCopied) || errors.Is(err, errRevoked) {
		return err // whoever has found out has noted it
	}
	defer k.issuer.Changed() // requests that wait for another worker ID have to do without, or can have one
	cur, _ := k.leases()
	if k.heard(err) && cur.serves() && !cur.cut {
		return err // the one that is held is extended all the same
	}
	code := condition.Of(err)
	if k.fail(code, err) && !cur.open() { // or package lifecycle says what follows
		k.Log.Warn("no worker ID to issue from; retrying", "code", code, "error", err, "do", code.Do())
	}
	return err
}

// Acquire claims a worker ID, where none is held or it is to be a fresh one, and has it granted
// more, with what was issued. After it returns without an error the issuer uses the lane, and the
// worker ID that was replaced is given back. A fresh one is another than the one held, and one
// whose floor the caller need not wait for long.
func (k *Holder) Acquire(ctx context.Context, fresh bool) error {
	if cur, _ := k.leases(); fresh || !cur.serves() {
		if err := k.claim(ctx, fresh); err != nil {
			return err
		}
	}
	if err := k.extend(ctx); err != nil {
		return err
	}
	return k.giveBack(ctx)
}

// claim claims a worker ID. The lane in use serves on until the new one is granted something.
func (k *Holder) claim(ctx context.Context, fresh bool) error {
	cur, _ := k.leases()
	var made coord.Claim
	err := k.ask(ctx, func(ctx context.Context) (err error) {
		made, err = k.coord.Claim(ctx, coord.Request{
			Worker: cur.worker,
			Fresh:  fresh,
			Look:   k.again.Load() != 0,
			Latest: k.latest(),
			Before: func(int) error {
				k.Learn(k.coord.Known) // also of a raise that another follows before the claim is made
				return k.barred()
			},
		})
		return err
	})
	if err != nil {
		return k.failed(fmt.Errorf("no worker ID: %w", err))
	}
	k.again.Store(0)
	return k.adopt(made)
}

// adopt makes an acknowledged opening the current one.
func (k *Holder) adopt(made coord.Claim) (err error) {
	next := lease{worker: made.Worker(), opening: made.Opening(), node: made.Name(), claim: made}
	// It begins now, and not in the past that nobody was granted: so what is published tells the
	// others the time from the first grant on. A record beyond the layout's end leaves nothing.
	floor := min(max(made.Floor(), k.tick()-1), k.Layout.MaxTick())
	k.change(func() {
		for _, l := range []lease{k.retiring, k.current} {
			if l.worker == next.worker {
				k.end(l) // a lane of an earlier opening of this worker ID: the new one begins above it
			}
		}
		floor = max(floor, k.issued[next.worker].Or(0))
		next.lane, err = generator.NewLane(k.Layout, k.Datacenter, next.worker, floor)
		if err != nil {
			return // the daemon's settings are wrong
		}
		next.lane.Bind(k.Machine)
		if !k.FromZero {
			next.lane.Roll()
		}
		// A worker ID that still issues is given back later. There is room for one: a second ends.
		if k.retiring.lane == nil || k.retiring.worker == next.worker { // then there is nothing to give back
			k.retiring = k.current
		} else {
			k.end(k.current)
		}
		k.current = next
	})
	if err != nil {
		return err
	}
	return k.barred()
}

// extend has the grant extended, publishes what was issued, and raises the lane (invariant 3).
func (k *Holder) extend(ctx context.Context) error {
	was, retiring := k.leases()
	if was.claim == nil {
		return errRevoked // by Revoke: what else takes a claim away are steps, one at a time
	}
	now, issued := k.tick(), was.issued()
	ceiling := k.furthest(now, k.published.Load() != 0)
	k.expired.Store(false)
	err := k.ask(ctx, func(ctx context.Context) error {
		return was.claim.Extend(ctx, coord.Progress{Ceiling: ceiling, Issued: issued, Time: max(0, now)})
	})
	if errors.Is(err, coord.ErrLost) { // its lane issues on within its grant
		k.change(func() { k.current.claim = nil })
		k.why = condition.Of(err)
		k.Events.Happened(k.why)
		k.Log.Warn("the claim is lost; claiming again", "code", k.why, "worker", was.worker, "reason", err, "do", k.why.Do())
	}
	if err != nil {
		return k.failed(fmt.Errorf("worker ID %d was not granted more: %w", was.worker, err))
	}
	k.heard(nil)
	k.failure.Store(nil) // before the grant is seen, or it would be one that a failure ends
	node := was.node
	if name := was.claim.Name(); name != "" && name != node {
		node = name
		k.Events.Happened(condition.ClaimLost)
		k.Log.Warn("the claim was gone; claimed the same worker ID again",
			"code", condition.ClaimLost, "worker", was.worker, "claim", name, "do", condition.ClaimLost.Do())
	}
	k.change(func() {
		k.current.granted, k.current.told, k.current.node = max(was.granted, ceiling), issued, node
		k.current.lane.Raise(ceiling)
	}) // which cuts it: the answer may be older than the last raise that was learned of
	k.published.Store(k.now().Wall)
	if !was.lane.Closed() {
		k.issuer.Use(was.lane)
	}
	if was.granted == 0 {
		k.began(was, retiring)
	}
	return nil
}

// began logs the first grant of a worker ID.
func (k *Holder) began(l, before lease) {
	line := []any{"worker", l.worker, "floor", l.lane.Floor()}
	if before.lane != nil && before.worker != l.worker {
		line = append(line, "was", before.worker)
	}
	if k.why != "" {
		line = append(line, "why", k.why)
	}
	k.why = ""
	k.Log.Info("holds a worker ID", line...)
}

// release gives a worker ID back, in the one order of all: the lane is closed, the record lowered.
//
// A lane begins at the clock of its opening, which may have been wrong by years: where nothing was
// issued, the record goes back to where the opening found it, as the lane's floor is not in last.
func (k *Holder) release(ctx context.Context, l lease) error {
	var last generator.Last
	k.change(func() { last = k.end(l) })
	if l.claim == nil {
		return coord.ErrLost
	}
	err := k.ask(ctx, func(ctx context.Context) error { return l.claim.Release(ctx, last) })
	if err == nil {
		k.Log.Info("released the worker ID", "worker", l.worker, "last", last.Or(0))
	}
	return err
}

// giveBack gives back the worker ID that was replaced, if there is one.
func (k *Holder) giveBack(ctx context.Context) error {
	_, l := k.leases()
	if l.lane == nil {
		return nil
	}
	if err := k.release(ctx, l); err != nil && !errors.Is(err, coord.ErrLost) {
		return fmt.Errorf("worker ID %d was not given back: %w", l.worker, err)
	}
	k.change(func() { k.retiring = none() })
	return nil
}

// Shut ends the lanes and gives the worker IDs back. The record has the exact last tick then, if
// the coordinator answers. A copy gives nothing back: ErrCopied.
func (k *Holder) Shut(ctx context.Context) error {
	cur, retiring := k.leases()
	for _, l := range []lease{retiring, cur} {
		if l.lane == nil {
			continue
		}
		err := k.release(ctx, l)
		if errors.Is(err, ErrCopied) {
			return err
		}
		if err != nil && (l.claim != nil || l.granted != 0) { // or what was held is of a cluster that is no more
			k.Log.Warn("the worker ID is not released: its record stays where the grant ends", "worker", l.worker, "code", condition.Of(err), "reason", err)
		}
	}
	return nil
}
