package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
)

const (
	// firstAsk and lastAsk bound the time between two questions about one step, and how long one
	// may take. The longer a hold has lasted, the rarer they are: each lists the members.
	firstAsk = time.Second
	lastAsk  = 15 * time.Second
	// settled is how long Settle waits for a step. Watch wakes it at each, so any time will do.
	settled = time.Hour
)

// Watch finds steps of the clock until ctx ends, also while nobody asks for an ID. It returns
// grant.ErrCopied when the machine is a copy, and nil otherwise.
func (l *Lifecycle) Watch(ctx context.Context, issuer Issuer) error {
	supply, clock := newSupply(l), &stepped{lifecycle: l}
	for {
		if l.Clock.Sleep(ctx, l.watchEvery()) != nil {
			return nil
		}
		if l.Machine.Changed() {
			return grant.ErrCopied
		}
		supply.look()
		o := l.Clock.Observe()
		clock.say(l.Clock.Now().Mono, o)
		switch {
		case o == (clockguard.Observation{}):
			continue
		case o.Held:
			notify(l.wake())
		}
		issuer.Check()
		issuer.Changed() // a request may be waiting for an instant that has moved
	}
}

// watchEvery returns how long Watch sleeps. A request finds a step of the clock by itself. A copy
// of the machine has to be found at once, before its session says anything to the coordinator.
func (l *Lifecycle) watchEvery() time.Duration {
	h, tick := l.Holder.Holding(), l.Layout.TickAt(l.Clock.Now().Wall)
	idle := tick <= h.Granted && max(h.Floor, h.Issued)+l.Layout.Ticks(time.Second) < tick
	if l.Machine.Now != nil || !idle {
		return WatchEvery
	}
	return WatchIdle
}

// wake returns the channel by which Watch wakes Settle and verify.
func (l *Lifecycle) wake() chan struct{} {
	l.waking.Do(func() { l.stepped = make(chan struct{}, 1) })
	return l.stepped
}

func notify(wake chan struct{}) {
	select {
	case wake <- struct{}{}:
	default:
	}
}

// Settle decides about steps ahead that are held, until ctx ends: it looks what the other members
// have published, and has the clock followed once that is confirmed.
func (l *Lifecycle) Settle(ctx context.Context, issuer Issuer) {
	var last error
	var owed bool // a line has to say so
	var lines lines
	again := firstAsk
	next := l.Clock.Now().Mono // when the members may be listed
	var met bool               // another member was listed,
	var seen clockguard.Mono   // last then
	for ctx.Err() == nil {
		if _, _, held := l.Clock.Holding(); !held {
			last, owed, again = nil, false, firstAsk
			clockguard.Pause(ctx, l.Clock, settled, l.wake())
			continue
		}
		if early := next.Sub(l.Clock.Now().Mono); early > 0 {
			clockguard.Pause(ctx, l.Clock, early, l.wake())
			continue
		}
		next = l.Clock.Now().Mono + clockguard.Mono(firstAsk)
		e, _ := l.evidence(ctx, again, clockguard.Evidence{})
		hold, wall, held := l.Clock.Holding()
		if !held || ctx.Err() != nil {
			continue
		}
		now := l.Clock.Now().Mono
		switch {
		case len(e.Members) > 0:
			met, seen = true, now
		case met && now.Sub(seen) < l.Belief.ForwardHold:
			e.Unlisted = true // who has just gone may be starting again, and says the time in a moment
		}
		e.Wall, e.Held = wall, now.Sub(hold.Since)
		c := l.Belief.Decide(e)
		if !l.Clock.Conclude(hold, c) {
			continue
		}
		if c.Followed {
			l.followed.Store(max(1, int64(l.Clock.Now().Mono)))
			l.Events.Happened(condition.ClockFollowed)
			l.Log.Warn("the clock that is ahead is followed", "code", condition.ClockFollowed, "by", hold.Ahead.Round(time.Millisecond), "why", c.Why, "held_for", e.Held.Round(time.Millisecond))
			l.Holder.ExtendNow() // the time may be beyond the grant: the next request is not to wait for another
			issuer.Check()
			issuer.Changed()
			continue
		}
		if !errors.Is(c.Why, last) {
			last, owed = c.Why, true
		}
		if owed && lines.may(l.Clock.Now().Mono) {
			l.Log.Warn("the clock is ahead and is not believed", "code", condition.ClockHeld, "by", hold.Ahead.Round(time.Millisecond), "why", c.Why, "at_most", limit(c.For))
			owed = false
			l.Events.Happened(condition.ClockHeld)
			l.saidHeld.Store(true)
		}
		again = min(max(e.Held/4, firstAsk), lastAsk)
		pause := again
		if c.For > 0 {
			pause = min(pause, c.For)
		}
		next = min(next, l.Clock.Now().Mono+clockguard.Mono(pause))
		clockguard.Pause(ctx, l.Clock, pause, l.wake())
	}
}

// limit writes for how long a hold may last.
func limit(d time.Duration) string {
	if d == 0 {
		return "no limit"
	}
	return d.Round(time.Millisecond).String()
}

// evidence completes what is known of a clock that is ahead, or of a start's: what the other
// members have published, asked within limit, and what the kernel says.
func (l *Lifecycle) evidence(ctx context.Context, limit time.Duration, e clockguard.Evidence) (_ clockguard.Evidence, failed error) {
	e.Window = time.Duration(l.Holder.Window()) * l.Layout.TickLength()
	_, e.Synchronised = l.Clock.Synchronised()
	e.Unlisted = true // until they are listed
	coordinator := l.coordinator.Load()
	if coordinator == nil {
		return e, nil
	}
	ctx, cancel := clockguard.WithTimeout(ctx, l.Clock, limit)
	defer cancel()
	members, err := (*coordinator).Members(ctx)
	if at := (*coordinator).Known().Trusted; at > 0 {
		e.Trusted = l.Layout.UnixNanos(at)
	}
	if err != nil {
		l.Log.Debug("the members cannot be listed", "error", err)
		return e, err
	}
	e.Unlisted = false
	own := l.Holder.Holding().Claim
	boot := l.Clock.BootID()
	for _, m := range members {
		if m.Claim == own || boot != "" && m.Boot == boot || m.Opening == "" {
			continue // it is this daemon, goes by the same clock, or holds nothing yet
		}
		var come int64
		if m.Time > 0 {
			come = l.Layout.UnixNanos(m.Time)
		}
		e.Members = append(e.Members, come)
	}
	return e, nil
}

// verify decides which time a start that knows of no earlier one goes on from. Whether there are
// other members has to be known for that: they are listed within listing.
func (l *Lifecycle) verify(ctx context.Context, listing time.Duration) error {
	if l.resumed {
		return nil
	}
	shown := l.Clock.Shown()
	e, failed := l.evidence(ctx, listing, clockguard.Evidence{Wall: shown.Wall, Start: true})
	c := l.Belief.Decide(e)
	switch {
	case c.Followed:
		l.Log.Info("the time is the clock's", "why", c.Why, "clock", time.Unix(0, shown.Wall).UTC().Format(time.RFC3339))
	case e.Unlisted:
		return fmt.Errorf("coordinator %q: %w", l.Coord, failed)
	default: // Watch finds what the clock is ahead of that
		shown.Wall = e.Newest()
	}
	l.Clock.Confirm(shown)
	l.resumed = true
	return nil
}

// Time is a process's known time as it hands that to the one that takes over, and CLOCK_BOOTTIME of
// the same moment; both in nanoseconds, 0 if it is not known.
type Time struct{ Wall, Boot int64 }

// KnownTime is the process's, to be handed over.
func (l *Lifecycle) KnownTime() Time {
	wall, boot := l.Clock.Kept()
	return Time{wall, boot}
}

// Resume has a start go on from the known time that another process of this boot has handed over.
func (l *Lifecycle) Resume(t Time) { l.resumed = l.Clock.Resume(t.Wall, t.Boot) }
