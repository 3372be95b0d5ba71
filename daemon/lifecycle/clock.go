package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/daemon/condition"
	"github.com/flakeward/flakeward/daemon/grant"
	"github.com/flakeward/flakeward/daemon/journal"
)

const (
	// witnessTimeout bounds one question to all witnesses.
	witnessTimeout = time.Second
	// firstAsk and lastAsk bound the time between two questions about one step. The longer a hold has
	// lasted, the rarer they are: each lists the members.
	firstAsk = time.Second
	lastAsk  = 15 * time.Second
	// settled is how long Settle waits for a step. Watch wakes it at each, so any time will do.
	settled = time.Hour
)

// Watch finds steps of the clock until ctx ends, also while nobody asks for an ID. It returns
// grant.ErrCopied when the machine is a copy, and nil otherwise.
func (l *Lifecycle) Watch(ctx context.Context, issuer Issuer) error {
	supply, clock, idle := newSupply(l), &stepped{lifecycle: l}, false
	var told sync.WaitGroup
	defer told.Wait()
	for {
		was := idle
		if idle = l.idle(); idle && !was && l.Idle != nil {
			told.Go(l.Idle) // a step, or a copy of the machine, is found meanwhile
		}
		if l.Clock.Sleep(ctx, l.watchEvery(idle)) != nil {
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
		case o.Ended:
			l.extend()
		}
		issuer.Check()
		issuer.Changed() // a request may be waiting for an instant that has moved
	}
}

// watchEvery returns how long Watch sleeps. A request finds a step of the clock by itself. A copy
// of the machine has to be found at once, before its session says anything to the coordinator.
func (l *Lifecycle) watchEvery(idle bool) time.Duration {
	if l.Machine.Now != nil || !idle {
		return WatchEvery
	}
	return WatchIdle
}

// idle reports whether nobody asks any lane for IDs.
func (l *Lifecycle) idle() bool {
	for _, k := range l.Holders {
		if !k.Holding().Idle {
			return false
		}
	}
	return true
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

// Settle decides about steps ahead that are held, until ctx ends: it asks who can tell the time,
// and has the clock followed once that is confirmed.
func (l *Lifecycle) Settle(ctx context.Context, issuer Issuer) {
	var last error
	var owed bool // a line has to say so
	var lines lines
	next := l.Clock.Now().Mono // when the witnesses may be asked: each question lists the members
	for ctx.Err() == nil {
		if _, _, held := l.Clock.Holding(); !held {
			last, owed = nil, false
			clockguard.Pause(ctx, l.Clock, settled, l.wake())
			continue
		}
		if early := next.Sub(l.Clock.Now().Mono); early > 0 {
			clockguard.Pause(ctx, l.Clock, early, l.wake())
			continue
		}
		next = l.Clock.Now().Mono + clockguard.Mono(firstAsk)
		asked := l.ask(ctx)
		hold, wall, held := l.Clock.Holding()
		if !held || ctx.Err() != nil {
			continue
		}
		e := l.evidence(asked, hold, wall)
		c := l.Belief.Step(e)
		c.Said = l.Belief.Said(e)
		if !l.Clock.Conclude(hold, c) {
			continue
		}
		if c.Verdict == clockguard.Followed {
			l.followed.Store(max(1, int64(l.Clock.Now().Mono)))
			l.Events.Happened(condition.ClockFollowed)
			l.Log.Warn("the clock that is ahead is followed", "code", condition.ClockFollowed, "by", e.Ahead.Round(time.Millisecond), "why", c.Why, "witnesses", c.Said, "held_for", e.Held.Round(time.Millisecond))
			l.extend() // the time may be beyond the grant: the next request is not to wait for another
			issuer.Check()
			issuer.Changed()
			continue
		}
		if !errors.Is(c.Why, last) {
			last, owed = c.Why, true
			l.extend()
		}
		if owed && lines.may(l.Clock.Now().Mono) {
			l.Log.Warn("the clock is ahead and is not believed", "code", condition.ClockHeld, "by", e.Ahead.Round(time.Millisecond), "why", c.Why, "witnesses", c.Said, "at_most", limit(c.For))
			owed = false
			l.Events.Happened(condition.ClockHeld)
			l.saidHeld.Store(true)
		}
		again := min(max(e.Held/4, firstAsk), lastAsk)
		if c.For > 0 {
			again = min(again, c.For)
		}
		next = min(next, l.Clock.Now().Mono+clockguard.Mono(again))
		clockguard.Pause(ctx, l.Clock, again, l.wake())
	}
}

// extend has the grants extended, which shows the cluster whether the clock is believed.
func (l *Lifecycle) extend() {
	for _, k := range l.Holders {
		k.ExtendNow()
	}
}

// HoldOf is what the cluster is shown of a clock.
func HoldOf(clock *clockguard.Known) coord.Hold {
	h, _, held := clock.Holding()
	if !held {
		return coord.Hold{}
	}
	shown := coord.Hold{Ahead: h.Ahead.Truncate(time.Millisecond), Since: time.UnixMilli(h.From / int64(time.Millisecond)).UTC()}
	if h.Conclusion.Why != nil {
		shown.Why = h.Conclusion.Why.Error()
	}
	return shown
}

// limit writes for how long a hold may last.
func limit(d time.Duration) string {
	if d == 0 {
		return "no limit"
	}
	return d.Round(time.Millisecond).String()
}

// answers are what the witnesses say.
type answers struct {
	servers []coord.ServerClock
	at      clockguard.Mono // when the servers' clocks showed that
	members []coord.Member
	failed  error // why the members were not listed
}

// ask asks the coordinator's servers, and what the other members have published.
func (l *Lifecycle) ask(ctx context.Context) (a answers) {
	coordinator := l.coordinator.Load()
	if coordinator == nil {
		return a
	}
	ctx, cancel := clockguard.WithTimeout(ctx, l.Clock, witnessTimeout)
	defer cancel()
	l.together(
		func() {
			var err error
			a.servers, err = (*coordinator).Clocks(ctx)
			if a.at = l.Clock.Now().Mono; err != nil {
				l.Log.Debug("the coordinator's servers cannot be asked what time it is", "error", err)
			}
		},
		func() {
			if a.members, a.failed = (*coordinator).Members(ctx); a.failed != nil {
				l.Log.Debug("the members cannot be listed", "error", a.failed)
			}
		})
	return a
}

// evidence is what the answers say of a hold.
func (l *Lifecycle) evidence(a answers, hold clockguard.Hold, wall int64) clockguard.Evidence {
	now := l.Clock.Now().Mono
	e := clockguard.Evidence{Wall: wall, Ahead: hold.Ahead, Held: now.Sub(hold.Since), Reported: hold.Reported}
	e.MaxError, e.Synchronised = l.Clock.Synchronised()
	l.count(&e, a, now)
	tick := l.Layout.TickAt(wall)
	e.Stranded = true
	for _, k := range l.Holders {
		if k.Reachable() || tick <= k.Holding().Granted {
			e.Stranded = false
		}
	}
	return e
}

// count adds what servers and other members say.
func (l *Lifecycle) count(e *clockguard.Evidence, a answers, now clockguard.Mono) {
	e.Asked = len(a.servers)
	for _, s := range a.servers {
		if s.Err == nil {
			e.Servers = append(e.Servers, clockguard.ServerTime{Wall: s.Time.UnixNano() + int64(now.Sub(a.at)), Error: s.Error})
		}
	}
	own := map[string]bool{}
	for _, k := range l.Holders {
		own[k.Holding().Claim] = true
	}
	daemons := map[string]int{} // where the times of a daemon's lanes are: they go by one clock, and have one vote
	for _, m := range a.members {
		if own[m.Claim] || m.Opening == "" || max(m.Issued, m.Mark) == 0 {
			continue
		}
		// A mark is ahead of its daemon's time by the journal's step, and a grant by the window. Either
		// may be a floor that the daemon waits for: both, if that is more than a window ahead.
		var come int64
		if m.Ceiling > m.Mark {
			come = max(l.Layout.UnixNanos(m.Mark)-int64(l.Holders[0].Timing.Step), l.Layout.UnixNanos(m.Issued))
			come = min(come, l.Layout.UnixNanos(m.Ceiling-l.Holders[0].Window()))
		}
		i, found := daemons[m.Incarnation]
		if !found {
			i = len(e.Members)
			daemons[m.Incarnation], e.Members = i, append(e.Members, come)
		}
		e.Members[i] = max(e.Members[i], come)
	}
}

// ClockAheadError means that the clock of a start is further ahead than the others of its cluster
// may be: nothing is claimed by it.
type ClockAheadError struct {
	Ahead time.Duration // of most of the servers that answered
	Of    int           // how many did
	known time.Duration // by how much known time is ahead of them
}

// Lead returns by how much known time is ahead of most of the servers that answered. It is less
// than Ahead if the clock has stepped ahead since the start and is held.
func (e *ClockAheadError) Lead() time.Duration { return e.known }

func (e *ClockAheadError) Error() string {
	return fmt.Sprintf("the clock is %v ahead of most of the coordinator's servers (%d answered), and the other daemons have not come as far: "+
		"set it; no worker ID is claimed until then, unless --trust-clock is given", e.Ahead.Round(time.Millisecond), e.Of)
}

// verify waits until the clock of a start that knows of no earlier time is not ahead of the
// cluster's, or is confirmed. It returns when ctx ends, too.
func (l *Lifecycle) verify(ctx context.Context) {
	said := ""
	for ctx.Err() == nil && !l.resumed {
		a := l.ask(ctx)
		shown := l.Clock.Shown()
		e := clockguard.Evidence{Wall: shown.Wall}
		l.count(&e, a, shown.Mono)
		c := l.Belief.Start(e)
		if a.failed != nil && errors.Is(c.Why, clockguard.ErrUnwitnessed) { // there may be members
			for _, k := range l.Holders {
				k.NotJoined(a.failed)
			}
			clockguard.Pause(ctx, l.Clock, firstAsk, l.wake())
			continue
		}
		if c.Verdict != clockguard.NotReady {
			switch {
			case errors.Is(c.Why, clockguard.ErrNobody):
				l.Log.Info("no other time source to compare with; trusting the local clock", "clock", time.Unix(0, shown.Wall).UTC().Format(time.RFC3339))
			case errors.Is(c.Why, clockguard.ErrUnwitnessed):
				l.Log.Warn("the clock is ahead of the coordinator's only server, with no other time source to compare with; trusting the local clock", "by", e.Lead().Round(time.Millisecond))
			}
			if said != "" {
				l.Events.Happened(condition.ClockFollowed)
				l.Log.Info("the clock is believed; the start goes on", "code", condition.ClockFollowed)
			}
			l.Clock.Confirm(shown)
			l.resumed = true
			return
		}
		err := &ClockAheadError{Ahead: e.Lead(), Of: len(e.Servers), known: e.Lead() - time.Duration(shown.Wall-l.Clock.Now().Wall)}
		for _, k := range l.Holders {
			k.NotJoined(err)
		}
		if text := c.Why.Error(); text != said {
			l.Events.Happened(condition.ClockNotReady)
			l.Log.Error("not ready", "code", condition.ClockNotReady, "error", err)
			said = text
		}
		clockguard.Pause(ctx, l.Clock, firstAsk, l.wake())
	}
}

// resume goes on from the latest time that a journal of this boot knows. Witnesses are asked all
// the same if nobody had confirmed it, as after a boot without the coordinator.
func (l *Lifecycle) resume(all []laneJournal) {
	var last journal.Known
	for _, found := range all {
		c := found.contents
		if c == nil || !found.inPlace || c.Known.Boot == 0 || !found.file.SameBoot(*c) {
			continue
		}
		if c.Known.Boot > last.Boot {
			last = c.Known
		}
	}
	if last.Boot > 0 {
		l.resumed = l.Clock.Resume(last.Wall, last.Boot, !last.Unsure) && !last.Unsure
	}
}
