package world

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/coord/claims"
	"github.com/flakeward/flakeward/sim/scheduler"
	"github.com/flakeward/flakeward/sim/tree"
)

// requestTimeout is how long a store waits for one answer, if its caller lets it.
const requestTimeout = 2 * time.Second

var errNoAnswer = errors.New("no answer")

// weather is what lies between the daemons and the servers. Chances are of one request.
type weather struct {
	down               int // the servers do not answer
	lost, late, twice  float64
	stale              float64
	deaf, mute, slowed []int // by host: it does not hear, is not heard; by daemon: its disk is slow
	early              int   // the servers were restored, and the marks are not raised yet
}

// call is one request under way.
type call struct {
	answered bool
	deaf     bool // nobody hears the answer
	over     bool // nobody waits for it any more
	flow     *scheduler.Flow
}

// Carry implements tree.Carrier.
func (p *proc) Carry(ctx context.Context, what string, stale bool, do func(*tree.Tree) func()) error {
	if p.dead {
		scheduler.Unwind()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if p.slot.sheltered {
		p.w.serving, p.w.asking = p.slot, p
		defer func() { p.w.asking = nil }()
		return beside{p.w}.Carry(ctx, what, stale, do)
	}
	p.point("send", what)
	w, c := p.w, &call{flow: p.w.line.Running()}
	until := min(limit(ctx), p.host.read().Mono+clockguard.Mono(requestTimeout))
	n := 1
	if w.plan.Servers == tree.Etcd && w.chance(w.weather.twice) {
		n = 2
	}
	way := w.way()
	if w.chance(w.weather.late) {
		way += scheduler.Time(w.net.ExpFloat64() * 2e9)
	}
	lost := false
	if twist := p.slot.twist; twist != nil {
		p.slot.twist = nil
		switch twist.Kind {
		case Refused:
			return fmt.Errorf("the servers do not want to: %w", claims.ErrRefused)
		case RequestLost:
			lost = true
		case RequestLate:
			way += scheduler.Time(twist.For)
		case ReplyLost:
			c.deaf = true
		}
	}
	if lost || w.weather.mute[p.host.id(w)] > 0 || w.chance(w.weather.lost) {
		w.say(p.slot, "request lost: %s", what)
		n = 0
	}
	// One that happens twice does so at once: no client sends a request again after a later one.
	for range n {
		w.line.At(w.line.Now()+way, func() { p.arrive(c, what, stale, do) })
	}
	p.wait(until, nil, func() bool { return c.answered || ctx.Err() != nil })
	c.over = true
	if c.answered {
		p.point("reply", what)
		return nil
	}
	if w.out != nil {
		w.say(p.slot, "gives up: %s", what)
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	return errNoAnswer
}

// arrive is a request at the servers.
func (p *proc) arrive(c *call, what string, stale bool, do func(*tree.Tree) func()) {
	w := p.w
	if w.weather.down > 0 || w.weather.early > 0 && what != "extend a grant" && what != "release a worker ID" {
		w.say(p.slot, "nobody there: %s", what)
		return
	}
	t := w.tree
	if stale && w.older != nil && w.chance(w.weather.stale) {
		t = w.older
	}
	w.serving, w.asking = p.slot, p
	answer := do(t)
	w.asking = nil
	if w.out != nil {
		late := ""
		if c.over || p.dead {
			late = " (given up before)"
		}
		w.say(p.slot, "takes place: %s%s", what, late)
	}
	if c.deaf || w.weather.deaf[p.host.id(w)] > 0 || w.chance(w.weather.lost) {
		w.say(p.slot, "reply lost: %s", what)
		return
	}
	w.line.At(w.line.Now()+w.way(), func() {
		p.do(func() {
			if c.over || c.answered {
				return
			}
			c.answered = true
			answer()
			for _, parked := range p.parked {
				if parked.flow == c.flow {
					p.wake(parked)
					return
				}
			}
		})
	})
}

// way is how long a message takes.
func (w *World) way() scheduler.Time {
	return scheduler.Time(200*time.Microsecond) + scheduler.Time(w.net.ExpFloat64()*1e6)
}

func (w *World) chance(p float64) bool { return p > 0 && w.net.Float64() < p }

// open starts the life of a session at the servers.
func (w *World) open(session int64) {
	w.seen[session] = w.line.Now()
	w.line.At(w.line.Now()+scheduler.Time(w.plan.TTL), func() { w.expire(session) })
}

// expire ends a session that was not heard of for its time to live.
func (w *World) expire(session int64) {
	seen, ok := w.seen[session]
	if !ok {
		return
	}
	now, ttl := w.line.Now(), scheduler.Time(w.plan.TTL)
	switch {
	case w.weather.down > 0: // nobody counts
		w.line.At(now+ttl, func() { w.expire(session) })
	case now-seen < ttl:
		w.line.At(seen+ttl, func() { w.expire(session) })
	default:
		delete(w.seen, session)
		w.say(nil, "session %d ends", session)
		w.tree.End(session)
	}
}

// keepAlive is heard by the servers from time to time, while the process runs.
func (p *proc) keepAlive() {
	w := p.w
	if s := p.store.Session(); s != 0 && w.weather.down == 0 && w.weather.mute[p.host.id(w)] == 0 {
		if seen, ok := w.seen[s]; ok && seen < w.line.Now() {
			w.seen[s] = w.line.Now()
		}
	}
	w.line.At(w.line.Now()+scheduler.Time(w.plan.TTL)/3, func() { p.do(p.keepAlive) })
}

func (h *host) id(w *World) int {
	for i, other := range w.hosts {
		if other == h {
			return i
		}
	}
	return 0
}

// beside is a carrier that nothing lies on the way of.
type beside struct{ w *World }

func (b beside) Carry(_ context.Context, _ string, _ bool, do func(*tree.Tree) func()) error {
	do(b.w.tree)()
	return nil
}

// still is the clock of an operator, who never waits.
type still struct{}

func (still) Now() clockguard.Reading                    { return clockguard.Reading{Wall: begin.UnixNano()} }
func (still) Sleep(context.Context, time.Duration) error { return nil }
