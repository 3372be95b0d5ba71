package grant

import (
	"context"
	"errors"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/generator"
)

// step is what Hold does next.
type step string

const (
	giveBack step = "give back" // the worker ID that was replaced
	reLease  step = "re-lease"  // claim another worker ID than the one in use, which is given back then
	claim    step = "claim"     // a worker ID, as none is claimed
	extend   step = "extend"    // the grant, and publish what was issued
	rest     step = "rest"      // there is nothing to do yet
)

// situation is all that decides about the next step.
type situation struct {
	now  clockguard.Mono
	tick generator.Tick
	past

	serves   bool           // a worker ID is claimed, and its lane is open
	replaced bool           // another worker ID is to be given back
	unwanted bool           // another worker ID than the one in use was asked for
	news     bool           // the record lacks what was issued, or a session has expired
	granted  generator.Tick // the ceiling,
	furthest generator.Tick // and the one that may be asked for now
	publish  time.Duration  // one Publish, with jitter
	length   time.Duration  // of a tick
}

// past is what Hold keeps of the steps before. Its zero value is for a Hold that has taken none.
type past struct {
	well    bool            // the worker ID in use was granted more, and nothing has failed since
	retryAt clockguard.Mono // when something may be asked again, after a failure
	retry   time.Duration   // the pause after the last failure; 0: there was none since a grant
	due     clockguard.Mono // when what was issued is to be published
	half    generator.Tick  // the grant is extended when so much of it is left
}

// next decides about the next step; for rest it returns for how long.
func (s situation) next() (step, time.Duration) {
	left := s.granted - s.tick - s.half
	switch {
	case s.now < s.retryAt:
		return rest, s.retryAt.Sub(s.now)
	case s.replaced: // before another worker ID is claimed: only one can be retiring
		return giveBack, 0
	case s.unwanted:
		return reLease, 0
	case !s.serves:
		return claim, 0
	case !s.well, s.news && s.now >= s.due, left <= 0 && s.granted < s.furthest:
		return extend, 0
	}
	pause := s.due.Sub(s.now)
	if pause <= 0 {
		pause = s.publish // what is issued meanwhile is published then: daemons that are asked at one moment do not publish at one
	}
	if left > 0 {
		pause = min(pause, span(left, s.length))
	}
	return rest, pause
}

// situation is what the next step is decided by, as it is now, and by p, of the steps before.
func (k *Holder) situation(p past) situation {
	cur, retiring := k.leases()
	now, tick := k.now().Mono, k.tick()
	s := situation{
		now: now, tick: tick, past: p,
		granted: cur.granted, furthest: k.furthest(tick, true), publish: k.jitter(k.Timing.Publish), length: k.Layout.TickLength(),
	}
	s.replaced = retiring.lane != nil && (retiring.lane.Closed() || cur.granted != 0)
	if cur.lane != nil {
		s.serves = cur.serves()
		// One that was cut by an old raise, which a server told that lags, stays cut although it is
		// granted more.
		s.unwanted = k.unwanted.Load() == cur.lane || p.well && cur.cut
		s.news = k.expired.Load() || !cur.claimed() || cur.issued() != cur.told
	}
	return s
}

// Hold holds a worker ID until ctx ends: it claims, extends, claims another where one was lost, and
// changes a worker ID that a request asked to have changed. Attach has been called before. It
// returns an error only if the coordinator is another cluster's now, or in a copy: ErrCopied.
func (k *Holder) Hold(ctx context.Context) error {
	var p past
	for ctx.Err() == nil {
		s := k.situation(p)
		next, pause := s.next()
		if next == rest {
			clockguard.Pause(ctx, k.Clock, pause, k.wake)
			continue
		}
		err := k.take(ctx, next)
		switch {
		case errors.Is(err, coord.ErrOtherCluster):
			k.Revoke()
			return err
		case errors.Is(err, ErrCopied):
			return err
		}
		k.note(&p, next, err)
	}
	return nil
}

// take takes a step.
func (k *Holder) take(ctx context.Context, next step) error {
	cur, _ := k.leases()
	switch next {
	case giveBack:
		return k.giveBack(ctx)
	case extend:
		return k.extend(ctx)
	case reLease:
		defer k.unwanted.CompareAndSwap(cur.lane, nil) // who still wants it asks again
		k.why = condition.ClockBehind
		if cur.cut {
			k.why = condition.MarksRaised
		}
		err := k.claim(ctx, true)
		if !errors.As(err, new(*coord.ExhaustedError)) || !cur.cut || cur.ceiling() > k.tick() {
			return err
		}
		k.change(func() { k.end(cur); k.retiring, k.current = k.current, none() }) // the only one to be had: it is opened anew
		return nil
	default: // As long as the lane has a grant to go on with, only a worker ID that serves at once is better.
		return k.claim(ctx, cur.ceiling() > k.latest())
	}
}

// note notes how a step ended.
func (k *Holder) note(p *past, did step, err error) {
	cur, _ := k.leases()
	now := k.now().Mono
	switch {
	case err != nil:
		p.well = false
		p.retry = longer(p.retry)
		pause := k.jitter(p.retry)
		if errors.As(err, new(*coord.ExhaustedError)) && cur.claim == nil {
			pause = max(pause, time.Duration(k.again.Load())-time.Duration(now)) // there is nothing to extend meanwhile
		}
		p.retryAt = now + clockguard.Mono(pause)
		k.Log.Debug("the coordinator request failed; retrying", "error", err, "retry_in", pause)
	case did == extend:
		p.well = true
		if cur.cut { // nothing can be issued from it: another worker ID is claimed, at once and then with a pause
			p.retryAt = now + clockguard.Mono(k.jitter(p.retry))
			p.retry = longer(p.retry)
		} else {
			p.retry = 0
		}
		p.due = now + clockguard.Mono(k.jitter(k.Timing.Publish))
		// Up to a fifth more than half, so that daemons which were granted together do not stay
		// together.
		left := min(cur.granted, k.furthest(k.tick(), true)) - k.tick()
		p.half = generator.Tick(float64(max(0, left)/2) * (1 + k.Random()/5))
	default:
		p.well = p.well && did == giveBack
	}
}
