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
	// callTimeout bounds one exchange with the coordinator. A write whose outcome is unknown is
	// asked about again, so nothing is lost by giving up early.
	callTimeout = 3 * time.Second
	// firstTimeout bounds one while nothing is served that a quicker answer could help: many daemons
	// may be claiming at once.
	firstTimeout = 15 * time.Second
	// lastTimeout bounds the question whether the coordinator is there for giving a worker ID back.
	// Whoever stops a daemon waits for it, often with a limit of ten seconds.
	lastTimeout = 2 * time.Second
)

var (
	errNoClaim = errors.New("no worker ID is claimed")
	// errRevoked is what Hold meets after somebody else has found out.
	errRevoked = fmt.Errorf("all that was held is revoked: %w", coord.ErrOtherCluster)
	// errUnusable means that a worker ID cannot be issued from, because its record is beyond the
	// layout's last tick.
	errUnusable = errors.New("the worker ID cannot be used; take its record back to where it was")
	// ErrCopied means that this process is a copy of the one that the holder was made in: the machine
	// was started from a saved state. The claim and the session are the original's as well. The holder
	// sends nothing more, and its lanes give nothing; only another start can go on.
	ErrCopied = errors.New("the virtual machine was cloned or put back, so this process is a copy: " +
		"nothing more is issued from its worker IDs, which its original may still hold")
)

// barred says why nothing may be sent any more; nil if it may. A copy that is made after that does what
// its original does at the same time: the same request, which has the original's nonce, of a lane that
// is closed in both.
//
// A claim that comes back in a copy is not released: the copy cannot tell whether its original made
// the same one. Nothing was granted with it. If it is nobody's, its node bars its worker ID until
// the session ends that the copy has left.
func (k *Holder) barred() error {
	if k.Machine.Changed() {
		return ErrCopied
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.revoked {
		return errRevoked
	}
	return nil
}

// ask makes one exchange with the coordinator, in a context of its own. Whatever the answer, it may have
// told of a raise.
func (k *Holder) ask(ctx context.Context, limit time.Duration, do func(context.Context) error) error {
	if err := k.barred(); err != nil {
		return err
	}
	ctx, cancel := clockguard.WithTimeout(ctx, k.Clock, limit)
	defer cancel()
	err := do(ctx)
	k.Learn(k.coord.Known)
	return err
}

// noted notes how a try to be granted more ended, and returns err.
func (k *Holder) noted(err error) error {
	if errors.Is(err, ErrCopied) || errors.Is(err, errRevoked) {
		return err // whoever has found out has noted it
	}
	could := k.CanAcquire()
	none := k.backoff.none(err)
	reachable := err == nil || none || errors.Is(err, coord.ErrLost)
	k.reachable.Store(reachable)
	if !reachable {
		k.backoff.reset()
	}
	if could != k.CanAcquire() {
		k.issuer.Changed() // requests that wait for another worker ID have to do without, or can have one
	}
	cur, _ := k.leases()
	if none && cur.serves() && !cur.cut {
		k.Log.Debug("no other worker ID is to be had", "error", err)
		return err // the one that is held is extended all the same
	}
	before := k.fail(err)
	switch {
	case err == nil && before != nil:
		k.Log.Info("the coordinator has extended the grant")
	case err == nil || before != nil && before.Error() == err.Error(): // logged before
	case cur.lane != nil && !cur.lane.Closed():
		k.Log.Debug("the grant is not extended", "error", err) // package lifecycle says what follows
	default:
		k.Log.Warn("no worker ID to issue from; retrying", "code", codeOf(err), "error", err, "do", codeOf(err).Do())
	}
	return err
}

// Acquire claims a worker ID, and has it granted: after it returns without an error the issuer uses
// the lane. With fresh it is another worker ID than the one held, and one whose floor the caller need
// not wait for long.
func (k *Holder) Acquire(ctx context.Context, fresh bool) error {
	if err := k.claim(ctx, fresh); err != nil {
		return err
	}
	return k.Publish(ctx)
}

// Publish has the grant extended as far as it may reach, together with what was issued, and gives the
// worker ID back that was replaced. After coord.ErrLost the holder holds no claim, and issues on
// within the grant that it has.
func (k *Holder) Publish(ctx context.Context) error {
	if err := k.extend(ctx); err != nil {
		return err
	}
	return k.giveBack(ctx)
}

// claim claims a worker ID. The lane in use serves on until the new one is granted something.
func (k *Holder) claim(ctx context.Context, fresh bool) error {
	begun := k.now().Mono
	cur, _ := k.leases()
	limit := firstTimeout
	if cur.claim != nil {
		limit = callTimeout // meanwhile it is not extended
	}
	var made coord.Claim
	err := k.ask(ctx, limit, func(ctx context.Context) (err error) {
		made, err = k.coord.Claim(ctx, coord.Request{
			Worker: cur.worker,
			Fresh:  fresh,
			Look:   k.backoff.waits(),
			Latest: k.latest(),
			Before: func(int) error {
				k.Learn(k.coord.Known) // also of a raise that another follows before the claim is made
				return k.barred()
			},
		})
		return err
	})
	if err != nil {
		return k.noted(fmt.Errorf("no worker ID: %w", err))
	}
	k.backoff.reset()
	if err := k.adopt(made, begun); err != nil {
		if errors.Is(err, errUnusable) { // or it bars its worker ID, also once the record is right
			_ = k.ask(ctx, callTimeout, func(ctx context.Context) error { return made.Release(ctx, made.Floor()) })
		}
		return k.noted(err)
	}
	return nil
}

// adopt makes an acknowledged opening the current one.
func (k *Holder) adopt(made coord.Claim, begun clockguard.Mono) error {
	cur, retiring := k.leases()
	next := lease{worker: made.Worker(), opening: made.Opening(), node: made.Name(), claim: made, was: cur.worker, begun: begun}
	// It begins now, and not in the past that nobody was granted: so what is published tells the
	// others the time from the first grant on.
	floor := max(made.Floor(), min(k.tick(), k.Layout.MaxTick())-1)
	k.change(func() {
		for _, l := range []lease{retiring, cur} {
			if l.worker == next.worker {
				k.end(l) // a lane of an earlier opening of this worker ID: the new one begins above it
			}
		}
		floor = max(floor, k.issued[next.worker])
	})
	lane, err := generator.NewLane(k.Layout, k.Datacenter, next.worker, floor)
	if err != nil {
		return fmt.Errorf("worker ID %d: %w: %w", next.worker, errUnusable, err)
	}
	lane.Bind(k.Machine)
	if !k.FromZero {
		lane.Roll()
	}
	next.lane = lane
	if cur.lane != nil {
		next.since = k.now().Wall
	}
	// A worker ID that still issues is given back later. There is room for one: a second one ends here.
	k.change(func() {
		if retiring.lane == nil || retiring.worker == next.worker { // then there is nothing to give back
			k.retiring = k.current
		} else {
			k.end(cur)
		}
		k.current = next
	})
	return k.barred()
}

// extend has the grant extended, publishes what was issued, and has the lane issue up to what is granted
// then (invariant 3).
func (k *Holder) extend(ctx context.Context) error {
	was, retiring := k.leases()
	if was.claim == nil {
		return k.noted(errNoClaim)
	}
	now, issued := k.tick(), was.issued()
	ceiling := k.furthest(now, k.published.Load() != 0)
	told := issued
	if told >= now {
		told-- // more may be issued in it
	}
	limit := callTimeout
	if was.granted == 0 && retiring.lane == nil {
		limit = firstTimeout
	}
	k.expired.Store(false)
	err := k.ask(ctx, limit, func(ctx context.Context) error {
		return was.claim.Extend(ctx, coord.Progress{Ceiling: ceiling, Issued: issued, Time: max(0, now)})
	})
	if errors.Is(err, coord.ErrLost) {
		k.lost(was, err)
	}
	if err != nil {
		return k.noted(fmt.Errorf("worker ID %d was not granted more: %w", was.worker, err))
	}
	_ = k.noted(nil) // before the grant is seen, or it would be one that a failure ends
	node := k.claimedAs(was)
	k.change(func() {
		k.current.granted, k.current.told, k.current.node = max(k.current.granted, ceiling), told, node
	}) // which cuts it: the answer may be older than the last raise that was learned of
	cur, _ := k.leases()
	k.published.Store(k.now().Wall)
	if cur.granted > cur.lane.Ceiling() && cur.lane.Raise(cur.granted) {
		k.issuer.Changed()
	}
	if !cur.lane.Closed() {
		k.issuer.Use(cur.lane)
	}
	if cur.cut {
		k.reLease(cur.lane, condition.MarksRaised) // an old raise was told, by a server that lags: the lane stays cut
	}
	if was.granted == 0 {
		k.began(cur)
	}
	return nil
}

// lost notes that a claim is lost. Its lane issues on within its grant.
func (k *Holder) lost(l lease, reason error) {
	k.change(func() { k.current.claim = nil })
	code := codeOf(reason)
	k.why = code
	k.Events.Happened(code)
	k.Log.Warn("the claim is lost; claiming again", "code", code, "worker", l.worker, "reason", reason, "do", code.Do())
}

// claimedAs returns the name of the claim's node, and says it if that has been made again. One that is
// not there is tried again within a Publish.
func (k *Holder) claimedAs(l lease) string {
	name := l.claim.Name()
	switch name {
	case l.node:
	case "":
		k.expired.Store(true)
		return l.node
	default:
		k.Events.Happened(condition.ClaimLost)
		k.Log.Warn("the claim was gone; claimed the same worker ID again",
			"code", condition.ClaimLost, "worker", l.worker, "claim", name, "do", condition.ClaimLost.Do())
	}
	return name
}

// began logs the first grant of a worker ID.
func (k *Holder) began(l lease) {
	if first := l.lane.Floor() + 1; k.long(first) {
		k.Events.Happened(condition.FloorAhead)
		k.Log.Warn("the worker ID may have been issued from up to a time that the clock has not reached; no ID until then",
			"code", condition.FloorAhead, "worker", l.worker, "until", k.Layout.StartOf(first), "do", condition.FloorAhead.Do())
	}
	line := []any{"worker", l.worker, "floor", l.lane.Floor(), "took", k.now().Mono.Sub(l.begun).Round(time.Microsecond)}
	if l.was != coord.AnyWorker && l.was != l.worker {
		line = append(line, "was", l.was)
	}
	if k.why != "" {
		line = append(line, "why", k.why)
	}
	k.why = ""
	k.Log.Info("holds a worker ID", line...)
}

// release gives a worker ID back, in the one order of every release: the lane is closed, then the
// record is lowered. It returns what it is lowered to.
//
// A lane begins at the clock of its opening, which may have been wrong by years: where nothing was
// issued from it, the record goes back to where the opening found it (invariant 1).
func (k *Holder) release(ctx context.Context, l lease) (last generator.Tick, err error) {
	var known generator.Tick
	k.change(func() { last, known = k.end(l), k.issued[l.worker] })
	switch {
	case l.claim == nil:
		return last, errNoClaim
	case last <= l.lane.Floor():
		last = max(l.claim.Floor(), known)
	}
	return last, k.ask(ctx, callTimeout, func(ctx context.Context) error { return l.claim.Release(ctx, last) })
}

// giveBack gives back the worker ID that was replaced, if there is one.
func (k *Holder) giveBack(ctx context.Context) error {
	_, l := k.leases()
	if l.lane == nil {
		return nil
	}
	last, err := k.release(ctx, l)
	if err != nil && l.claim != nil && !errors.Is(err, coord.ErrLost) {
		return fmt.Errorf("worker ID %d was not given back: %w", l.worker, err)
	}
	k.change(func() { k.retiring = none() })
	k.Log.Info("left a worker ID", "worker", l.worker, "last", last, "released", err == nil)
	return nil
}

// Shut ends the lanes and gives the worker ID back. The record has the exact last tick then, if the
// coordinator answers. A copy keeps its hands off all of it: ErrCopied.
func (k *Holder) Shut(ctx context.Context) error {
	if k.Machine.Changed() {
		return ErrCopied
	}
	ctx, cancel := clockguard.WithTimeout(ctx, k.Clock, lastTimeout)
	defer cancel()
	if err := k.giveBack(ctx); err != nil {
		k.Log.Warn("the former worker ID was not released", "error", err)
	}
	cur, _ := k.leases()
	if cur.lane == nil {
		return nil
	}
	last, err := k.release(ctx, cur)
	switch {
	case errors.Is(err, ErrCopied):
		return err
	case err == nil:
		k.Log.Info("released the worker ID", "worker", cur.worker, "last", last)
	case cur.claim != nil || cur.granted != 0: // or what was held is of a cluster that is no more
		k.Log.Warn("the worker ID is not released: its record stays where the grant ends", "worker", cur.worker, "code", codeOf(err), "reason", err)
	}
	return nil
}
