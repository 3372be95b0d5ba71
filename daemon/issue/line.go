package issue

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

// line is the requests that wait for numbers of an issuer's lane.
type line struct {
	limits  queue.Limits
	small   int          // the largest request that is small
	reserve int          // what large requests leave of a tick in which nobody waits
	waiting atomic.Int64 // requests; while it is 0, nothing below is looked at

	mu    sync.Mutex          // guards the rest, and what its connections have of it
	turns turns               // of nobody while nobody waits
	_     [cacheLine - 8]byte // what is written by those who wait is not beside what all read
}

// cacheLine keeps apart what is written at different rates.
const cacheLine = 128

// turns is the queue, and how far it has been dealt.
type turns struct {
	queue   *queue.Queue
	lane    *generator.Lane // that was dealt from last
	dealt   generator.Tick  // the tick that was
	from    generator.Tick  // the first one that may have numbers left for who waits
	since   generator.Tick  // the first one whose numbers were shared with the last
	reserve int             // what of that tick is kept for small requests and not taken yet
}

// remembered is how many ticks back numbers are still dealt that nobody took when they were.
const remembered = 8

func newLine(layout *generator.Layout, maxBlock time.Duration) line {
	limits := queue.Limits{
		Portion: int(layout.Max(generator.Sequence)) + 1,
		// The tick in which a request begins to wait may be used up.
		Deals: max(1, int(maxBlock/layout.TickLength())-1),
	}
	return line{
		limits: limits, small: limits.Small(), reserve: limits.Portion / 8,
		turns: turns{queue: queue.New(limits)},
	}
}

// fits reports whether a request can be served from the clock's tick without its waiting or having
// others wait longer than is their due.
func (l *line) fits(c *Connection, lane *generator.Lane, tick generator.Tick, n int) bool {
	if l.waiting.Load() != 0 {
		return false
	}
	small := c.Singles || n <= l.small && (c.small || !c.admitted) // what is left of a batch is not
	return small || lane.Room(tick)-l.reserve >= n
}

// join has the connection's request wait for numbers, from tick on. The caller holds mu.
func (l *line) join(c *Connection, lane *generator.Lane, tick generator.Tick, n int) {
	t := &l.turns
	if t.queue.Len() == 0 {
		t.lane, t.dealt, t.from, t.since, t.reserve = lane, tick, tick, tick, l.reserve
	}
	t.queue.Join(c.User, &c.place, &c.request, l.ask(c, n), c)
	c.line = l
	if c.awaited == 0 {
		c.awaited = tick
	}
	l.waiting.Add(1)
}

// took notes that the connection's request got n, and lets it go if it has all. It returns how many
// of them what is kept is less by if they are of the clock's tick. The caller holds mu.
func (l *line) took(c *Connection, n int) (reserve int) {
	if c.line == nil {
		return n
	}
	if reserve = c.request.Took(n); !c.request.Waits() {
		l.left(c)
	}
	return reserve
}

func (l *line) left(c *Connection) {
	c.line = nil
	l.waiting.Add(-1)
}

// waited is the queue and how far it has been dealt; nil: nobody waits. The caller holds mu.
func (l *line) waited() *turns {
	if l.turns.queue.Len() == 0 {
		return nil
	}
	return &l.turns
}

// leave takes the connection's request out of the line in which it waits.
func (c *Connection) leave() {
	if c.line != nil { // apart from the rest, so that a request which never waited calls nothing
		c.leaveLine()
	}
}

func (c *Connection) leaveLine() {
	l := c.line
	l.mu.Lock()
	defer l.mu.Unlock()
	c.request.Leave()
	l.left(c)
}

// inTurn takes numbers of the clock's tick, or of ticks before it that the request has waited
// through or a burst may draw on: as many as those leave who wait as well.
func (i *Issuer) inTurn(c *Connection, s sample, tenant uint32, n int) outcome {
	l, tick := &i.line, i.tick(s)
	l.mu.Lock()
	defer l.mu.Unlock()
	c.awaited = min(c.awaited, tick) // it may have come while the clock was ahead
	t := l.waited()
	if o, ok := i.admit(c, t, s, n); !ok {
		return o
	}
	if t != nil && (tick != t.dealt || s.lane != t.lane) {
		t.deal(s.lane, tick)
	}
	most, last := n, tick-1 // what it may take, and up to which tick it may draw
	switch {
	case c.line != nil:
		most = t.share(c, l, s.lane, tick, n)
	case t == nil:
	case l.keeps(c, t, n) && t.queue.Reserved() == 0:
		most, last = min(n, max(t.reserve, t.free(s.lane, tick))), min(last, t.from-1)
	default:
		most, last = 0, min(last, t.from-1)
	}
	// A burst takes nothing from those who wait: what they can draw on begins at from.
	if run, at, ok := i.draw(c, s.lane, tick, last, tenant, n, most); ok {
		if c.awaited != 0 {
			c.awaited = at
		}
		l.took(c, run.N)
		return outcome{run: run}
	}
	if o := takeNow(i, c, s, t, tenant, n, most); o.run.N > 0 {
		return o
	}
	if c.line == nil {
		l.join(c, s.lane, tick, n)
		if t != nil {
			if o := takeNow(i, c, s, t, tenant, n, t.share(c, l, s.lane, tick, n)); o.run.N > 0 {
				return o
			}
		}
	}
	return s.waits(i.until(tick+1, s.now), ErrExhausted)
}

// ask is what the queue is told of a connection's request for n.
func (l *line) ask(c *Connection, n int) queue.Ask {
	return queue.Ask{N: n, Small: c.small && n <= l.small, Row: c.Singles}
}

// keeps reports whether what is kept for small requests is for the connection's, too: for a row of
// many only as long as nobody waits.
func (l *line) keeps(c *Connection, t *turns, n int) bool {
	return c.request.Reserved() || c.small && (t == nil || n <= l.small)
}

// takeNow takes up to most numbers of the clock's tick, without those that are kept for others.
func takeNow(i *Issuer, c *Connection, s sample, t *turns, tenant uint32, n, most int) outcome {
	tick, kept := i.tick(s), i.line.keeps(c, t, n)
	if !kept {
		reserve := i.line.reserve
		if t != nil {
			reserve = t.reserve
		}
		most = min(most, s.lane.Room(tick)-reserve)
	}
	if most <= 0 {
		return outcome{}
	}
	run, out := s.lane.Take(tenant, tick, most)
	if out != generator.Issued {
		return outcome{}
	}
	i.record(c, s.lane, tick)
	c.awaited = tick
	if taken := i.line.took(c, run.N); kept && t != nil {
		t.reserve = max(0, t.reserve-taken)
	}
	return outcome{run: run}
}

// free is what the tick has that was dealt to nobody, the reserve included.
func (t *turns) free(lane *generator.Lane, tick generator.Tick) int {
	return lane.Room(tick) - t.queue.Dealt()
}

// share is what the connection's request, which waits, may take. If the tick has numbers that were
// dealt to nobody when it came, it is dealt anew.
func (t *turns) share(c *Connection, l *line, lane *generator.Lane, tick generator.Tick, n int) int {
	if c.request.Share() == 0 {
		free := t.free(lane, tick)
		if !l.keeps(c, t, n) {
			free -= t.reserve
		}
		if free > 0 {
			t.deal(lane, tick)
		}
	}
	return c.request.Share()
}

// deal shares a tick, and what those before it have left, among the requests that wait.
func (t *turns) deal(lane *generator.Lane, tick generator.Tick) {
	deal := t.queue.DealAgain
	if tick > t.dealt || lane != t.lane {
		deal = t.queue.Deal
		t.since = max(t.from, t.dealt)
	}
	if tick != t.dealt || lane != t.lane { // also where the clock went back: what is kept is of one tick
		t.reserve = t.queue.NextReserve() // once: what is taken of it is not kept anew
	}
	oldest := max(t.from, tick-generator.Tick(lane.Span()/2))
	left, first := lane.RoomFirst(oldest, tick-1)
	if left == 0 {
		first = tick
	}
	if t.since > oldest {
		// Who got something has it from the last tick that was dealt, or one after it, and can draw
		// on none before that. What nobody can draw is not to be shared.
		left, _ = lane.RoomFirst(t.since, tick-1)
	}
	room := lane.Room(tick)
	t.reserve = min(room, t.reserve)
	deal(left+room-t.reserve, t.reserve)
	t.lane, t.dealt, t.from = lane, tick, max(first, tick-remembered)
}

// admit refuses a request at once that could not be served within MaxBlock, before it takes
// anything. What is left of one that was admitted is no request of its own: a large one stays
// large, and none is refused any more. Who has been told when to ask again and asks for as much
// earlier, waits until then: a client that only repeats itself costs the others nothing.
func (i *Issuer) admit(c *Connection, t *turns, s sample, n int) (refused outcome, ok bool) {
	if c.admitted {
		return outcome{}, true
	}
	c.small = c.Singles || n <= i.line.small
	asked := n
	if c.Singles {
		asked = 1
	}
	if wait := c.early(s.now.Mono, asked); wait > 0 {
		return s.waits(wait, ErrExhausted), false
	}
	p := i.line.turns.queue.Admit(c.User, i.line.ask(c, n))
	if tick := i.tick(s); asked > p.Largest && t == nil && i.burst > 0 && tick >= s.highest {
		from := max(tick-i.burst, i.minimum(c, s.lane, tick))
		unused, _ := s.lane.RoomFirst(from, tick-1)
		p.Largest += unused
	}
	if asked <= p.Largest {
		c.admitted = true
		return outcome{}, true
	}
	many := &TooManyError{
		Count: asked, Within: i.limits.MaxBlock, Largest: p.Largest, After: time.Duration(p.After) * i.layout.TickLength(),
	}
	c.refused(s.now.Mono, many)
	return outcome{wait: Wait{Err: many}}, false
}
