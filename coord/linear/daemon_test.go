package linear_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	random "math/rand/v2"
	"slices"
	"time"

	"github.com/flakeward/flakeward/coord"
	"github.com/flakeward/flakeward/coord/coordtest"
	"github.com/flakeward/flakeward/coord/linear"
	"github.com/flakeward/flakeward/generator"
)

// grip is a claim that a daemon has, or had.
type grip struct {
	coord.Claim
	top     generator.Tick // the highest ceiling asked for
	issued  generator.Tick
	mark    generator.Tick
	last    generator.Tick // of the Release that was tried, which is asked for again
	giving  bool
	idle    bool // issues nothing
	lost    bool // ErrLost, or released
	unknown int  // calls of unknown outcome in a row
}

// session is one start of a daemon, with its connection.
type session struct {
	coord.Coordinator
	network network
	mortal  bool
	grips   []*grip
}

// daemon claims, extends and releases like one that waits for nothing. It is one
// goroutine's.
type daemon struct {
	w        *historyRun
	client   int
	rng      *random.Rand
	networks []network // for the next starts
	s        *session
	dead     []*grip // of starts before, whose nodes may be there
	journal  map[int]*grip
	broken   bool // the network is
}

func (d *daemon) chance(percent int) bool { return d.rng.IntN(100) < percent }

// upTo returns a number from 0 to n.
func (d *daemon) upTo(n int) generator.Tick { return generator.Tick(d.rng.IntN(n + 1)) }

func (d *daemon) run(ctx context.Context) {
	for ctx.Err() == nil {
		if d.broken && d.chance(70) {
			d.s.network.mend()
			d.broken = false
		}
		d.step()
		pause(ctx, time.Duration(d.rng.IntN(8))*time.Millisecond)
	}
	if d.s != nil {
		d.s.network.mend()
	}
}

func (d *daemon) step() {
	if d.s == nil {
		d.start()
		return
	}
	held := slices.DeleteFunc(slices.Clone(d.s.grips), func(g *grip) bool { return g.lost })
	old := slices.DeleteFunc(slices.Clone(d.s.grips), func(g *grip) bool { return !g.lost })
	switch n := d.rng.IntN(100); {
	case n < 2:
		d.end()
	case n < 4:
		d.revoke()
	case n < 8 && len(old) > 0: // it must not come back
		d.write(old[len(old)-1-d.rng.IntN(min(len(old), 3))])
	case len(held) == 0, n < 10 && len(held) < 2:
		d.claim()
	default:
		d.write(held[d.rng.IntN(len(held))])
	}
}

// start connects, as a new start of the daemon.
func (d *daemon) start() {
	mortal := d.chance(50)
	l := d.networks[0]
	l.mend()
	d.broken = false
	c := d.w.dial(l.addresses(), coord.Identity{Host: fmt.Sprintf("h%d", d.client), Incarnation: rand.Text()}, mortal)
	d.w.opened(c)
	ctx, cancel := context.WithTimeout(d.w.ctx, give)
	defer cancel()
	for {
		_, err := c.Join(ctx, layout)
		if err == nil {
			break
		}
		if ctx.Err() != nil {
			d.w.fail("client %d cannot join: %v", d.client, err)
			return
		}
		pause(ctx, 20*time.Millisecond)
	}
	d.s = &session{Coordinator: c, network: l, mortal: mortal}
}

// end is the end of this start: in order, or all at once.
func (d *daemon) end() {
	s := d.s
	for _, g := range s.grips {
		if !g.lost {
			d.dead = append(d.dead, g)
		}
		// From here on the server may end the session.
		at := d.w.now()
		d.w.note(linear.Op{Client: d.client, Kind: linear.Doom, Call: at, Return: at, Worker: g.Worker(), Opening: g.Opening()})
	}
	d.s, d.broken = nil, false
	if len(d.networks) > 1 && d.chance(60) {
		s.network.die()
		d.networks = d.networks[1:]
		return
	}
	s.network.mend()
	_ = s.Close() // the session ends by itself then
}

// revoke ends the session without a word to the daemon, where that can be done.
func (d *daemon) revoke() {
	if d.w.revoke == nil {
		return
	}
	held := slices.DeleteFunc(slices.Clone(d.s.grips), func(g *grip) bool { return g.lost })
	if len(held) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(d.w.ctx, longTimeout)
	defer cancel()
	call := d.w.now()
	// Only the one whose node is looked up is surely in the session that is ended.
	err := d.w.revoke(ctx, held[len(held)-1].Name())
	for i, g := range held {
		o := linear.Op{Client: d.client, Kind: linear.Doom, Call: call, Return: call, Worker: g.Worker(), Opening: g.Opening()}
		if i == len(held)-1 && err == nil {
			o.Kind, o.Return = linear.End, d.w.now()
		}
		d.w.note(o)
	}
}

// soon bounds the next call: most wait for an answer, some are given up early. Half of
// the calls that may be broken meet a fault on their way.
func (d *daemon) soon(calm bool) (context.Context, context.CancelFunc) {
	limit := longTimeout
	if !calm {
		if d.chance(12) {
			d.s.network.inject(d.rng)
			d.broken = true
		}
		switch {
		case d.broken:
			limit = time.Duration(20+d.rng.IntN(200)) * time.Millisecond
		case d.chance(15):
			limit = time.Duration(d.rng.IntN(12_000)) * time.Microsecond
		}
	}
	return context.WithTimeout(d.w.ctx, limit)
}

// dropping is the moment between the two steps of a claim that does not continue.
type dropping struct {
	worker int
	at     int64
}

func (d *daemon) claim() {
	r := coord.Request{Worker: d.rng.IntN(workers), Latest: 1 << 40}
	switch d.rng.IntN(10) {
	case 0:
		r.Fresh = true
	case 1:
		r.Worker = coord.AnyWorker
	case 2, 3:
	default: // the one that it had last
		if n := len(d.s.grips); n > 0 {
			r.Worker = d.s.grips[n-1].Worker()
		}
	}
	home := -1 // the worker ID that what it continues came from
	if g := d.journal[r.Worker]; g != nil && d.chance(90) {
		home, r.Opening, r.Mark = r.Worker, g.Opening(), g.mark
		if d.chance(15) { // an old copy
			r.Mark = max(0, r.Mark-1-d.upTo(50))
		}
	}
	var before *grip
	if len(d.dead) > 0 && d.chance(70) {
		before = d.dead[0]
		d.dead = d.dead[1:]
		r.Predecessor = before.Name()
	}
	var sent []dropping
	between := func(p coord.Pending) {
		if !p.Continues() {
			sent = append(sent, dropping{p.Worker(), d.w.now()})
		}
	}
	ctx, cancel := d.soon(false)
	defer cancel()
	o := linear.Op{Client: d.client, Kind: linear.Open, From: r.Opening, FromMark: r.Mark, Mortal: d.s.mortal, Call: d.w.now()}
	call := o.Call
	got, err := coordtest.ClaimWith(ctx, d.s, r, between)
	o.Return = d.w.now()

	if before != nil {
		e := linear.Op{Client: d.client, Kind: linear.Doom, Call: o.Call, Return: o.Call, Worker: before.Worker(), Opening: before.Opening()}
		if err == nil {
			e.Kind, e.Return = linear.End, o.Return
		} else {
			d.dead = append(d.dead, before)
		}
		d.w.note(e)
	}
	// By is when an opening that nobody was told of had been stored, if ever.
	by := o.Return
	if err != nil {
		var full *coord.ExhaustedError
		if d.w.unexpected(err) {
			return
		}
		if !errors.As(err, &full) {
			by = 0
		}
		defer pause(d.w.ctx, time.Duration(10+d.rng.IntN(60))*time.Millisecond)
	} else {
		o.Worker, o.Opening, o.Continues, o.Floor = got.Worker(), got.Opening(), got.Continues(), got.Floor()
		if !o.Continues {
			n := len(sent) - 1
			if n < 0 || sent[n].worker != o.Worker {
				d.w.fail("client %d: %v, and the lane was not dropped before: %+v", d.client, o, sent)
				return
			}
			o.Call, sent = sent[n].at, sent[:n]
		}
		d.w.note(o)
		g := &grip{Claim: got, top: o.Floor, issued: o.Floor, mark: o.Floor, idle: d.chance(35)}
		if o.Continues {
			g.mark = max(g.mark, r.Mark)
		}
		d.s.grips = append(d.s.grips, g)
		d.journal[o.Worker] = g
		d.w.hold(g)
	}
	for _, s := range sent {
		d.w.note(d.unseen(o, s.worker, s.at, by, false))
	}
	if home >= 0 && !(err == nil && o.Continues) {
		d.w.note(d.unseen(o, home, call, by, true))
	}
}

// unseen is an opening that may have been stored without anybody being told of it.
func (d *daemon) unseen(o linear.Op, worker int, call, by int64, continues bool) linear.Op {
	o.Outcome, o.Worker, o.Call, o.By, o.Continues = linear.Unknown, worker, call, by, continues
	o.Opening, o.Floor = fmt.Sprintf("%s%d", linear.Unseen, d.w.number()), 0
	return o
}

// write extends the claim, or releases it.
func (d *daemon) write(g *grip) {
	calm := g.unknown >= 3 // too many at once are hard to judge
	if g.giving || d.chance(5) {
		d.release(g, calm)
		return
	}
	g.top = max(0, g.top+d.upTo(120)-20)
	p := coord.Progress{Ceiling: g.top, Issued: max(0, g.issued-5) + d.upTo(30), Mark: max(0, g.mark-5) + d.upTo(30)}
	if g.idle {
		p.Issued = 0
	}
	g.issued, g.mark = max(g.issued, p.Issued), max(g.mark, p.Mark)
	ctx, cancel := d.soon(calm)
	defer cancel()
	o := linear.Op{Client: d.client, Kind: linear.Extend, Worker: g.Worker(), Opening: g.Opening(), Progress: p, Call: d.w.now()}
	err := g.Extend(ctx, p)
	d.wrote(g, o, err)
}

func (d *daemon) release(g *grip, calm bool) {
	if !g.giving {
		g.giving, g.last = true, max(0, g.top-d.upTo(100))
		if g.idle {
			g.last = max(0, g.Floor()-d.upTo(100))
		}
	}
	ctx, cancel := d.soon(calm)
	defer cancel()
	o := linear.Op{Client: d.client, Kind: linear.Release, Worker: g.Worker(), Opening: g.Opening(), To: g.last, Call: d.w.now()}
	err := g.Release(ctx, g.last)
	d.wrote(g, o, err)
	if err == nil {
		g.lost = true
		g.mark = max(g.mark, g.last)
	}
}

// wrote notes how a write ended.
func (d *daemon) wrote(g *grip, o linear.Op, err error) {
	o.Return = d.w.now()
	switch {
	case err == nil:
		g.unknown = 0
	case errors.Is(err, coord.ErrLost):
		o.Outcome = linear.Lost
		g.lost = true
	case d.w.unexpected(err):
		return
	default:
		o.Outcome = linear.Unknown
		g.unknown++
		pause(d.w.ctx, time.Duration(g.unknown*20)*time.Millisecond)
	}
	d.w.note(o)
}
