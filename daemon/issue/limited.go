package issue

import (
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/queue"
	"github.com/flakeward/flakeward/generator"
)

// Limited is an issuer whose users have a rate. A request over the rate of its user waits until that
// allows it, in turn with the others that wait for the same. It is refused at once if that would be
// later than MaxBlock. Its methods may be called from any goroutine.
type Limited struct {
	issuer   *Issuer
	rate     Rate // of each user
	clock    clockguard.Clock
	maxBlock time.Duration
	portion  int           // the most that a request reserves at once, so that those of a user take turns
	waits    atomic.Uint64 // requests that had to wait for the rate

	mu    sync.Mutex
	users map[queue.User]*allowance
	many  int          // how many users there are when those who rest are forgotten
	shown []queue.User // who came first, up to mostShown
	gone  uint64       // IDs of users that were forgotten and not shown
}

// allowance is what a user may take.
type allowance struct {
	clock clockguard.Clock
	shown bool        // by itself; guarded by Limited.mu
	over  atomic.Bool // its user was forgotten: it is another's now, or nobody's

	mu       sync.Mutex    // guards the rest, and what connections have of it
	bucket   *rate.Limiter // its tokens are below 0 while connections wait for what they reserved
	promised int           // what large requests were admitted for and have not reserved
	took     uint64        // IDs that the rate has allowed
}

// ration is what a connection has of an allowance.
type ration struct {
	of       *allowance // nil: not known yet
	admitted bool
	promised int             // of the allowance's
	granted  int             // IDs that it has reserved,
	from     clockguard.Mono // and may take from then on
}

// Limit returns what issues at this rate for each user: the issuer itself if there is none.
func (i *Issuer) Limit(of Rate, clock clockguard.Clock, maxBlock time.Duration) interface {
	Take(c *Connection, tenant uint32, n int) (generator.Run, Wait)
} {
	if !of.limited() {
		return i
	}
	return &Limited{
		issuer: i, rate: of, clock: clock, maxBlock: maxBlock, portion: max(1, of.PerSecond/portions),
		users: make(map[queue.User]*allowance), many: mostUsers,
	}
}

// portions is how many portions of a rate there are in a second.
const portions = 100

// Take is Issuer.Take within the rate of the connection's user.
func (l *Limited) Take(c *Connection, tenant uint32, n int) (generator.Run, Wait) {
	r := &c.user
	if r.of == nil || r.of.over.Load() {
		r.of = l.user(c.User)
	}
	if r.granted == 0 || r.from > 0 {
		if wait, ok := l.grant(c, n); !ok {
			return generator.Run{}, wait
		}
	}
	run, wait := l.issuer.Take(c, tenant, min(n, r.granted))
	r.granted -= run.N
	return run, wait
}

// user finds the user's allowance, which outlives its connections: who connects anew gets no new
// burst.
func (l *Limited) user(of queue.User) *allowance {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.users[of]
	if a == nil {
		l.forgetResting()
		// Who waits comes once in a millisecond or later. A bucket that holds less than what comes
		// meanwhile would not give the rate that was promised.
		burst := max(l.rate.Burst, l.portion)
		a = &allowance{clock: l.clock, bucket: rate.NewLimiter(rate.Limit(l.rate.PerSecond), burst)}
		l.users[of] = a
		if len(l.shown) < mostShown {
			a.shown, l.shown = true, append(l.shown, of)
		}
	}
	return a
}

// grant lets the connection take what the rate allows now, or says when to ask again.
func (l *Limited) grant(c *Connection, n int) (wait Wait, ok bool) {
	r := &c.user
	a, now := r.of, l.clock.Now().Mono
	c.sampled = now
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.granted == 0 {
		if wait, ok := l.admit(c, n, now); !ok {
			return wait, false
		}
		l.reserve(c, n, now)
	}
	if now >= r.from {
		r.from = 0
		return Wait{}, true
	}
	if c.deadline == 0 {
		l.waits.Add(1)
	}
	left := c.deadline.left(now, l.maxBlock)
	if left <= 0 {
		return Wait{Err: &UnavailableError{Reason: ErrRate, For: r.from.Sub(now), After: l.maxBlock}}, false
	}
	return Wait{For: min(left, max(r.from.Sub(now), time.Millisecond))}, false
}

// admit refuses a request that its rate cannot serve within MaxBlock, before it takes anything. An
// eighth of what comes in that time is kept for those who want no more than a portion. Who asks
// again before the time that it was told waits until then, and after MaxBlock is told what is left of
// that time. The caller holds the allowance's mu.
func (l *Limited) admit(c *Connection, n int, now clockguard.Mono) (wait Wait, ok bool) {
	a := c.user.of
	if c.user.admitted {
		return Wait{}, true
	}
	asked := n
	if c.Singles {
		asked = 1
	}
	if wait := c.early(now, asked); wait > 0 {
		if left := c.deadline.left(now, l.maxBlock); left > 0 {
			return Wait{For: min(wait, left)}, false
		}
		again := *c.told
		if again.Count = asked; again.After > 0 { // 0: it can never be had
			again.After = wait
		}
		return Wait{Err: &again}, false
	}
	c.deadline = 0 // who has waited until then is promised as much as one who comes now
	most, promised := max(1, int(l.maxBlock.Seconds()*float64(l.rate.PerSecond))), 0
	largest := a.tokens(now) + most
	if asked > l.portion {
		most, promised = most-most/8, asked
		largest = a.tokens(now) + most - a.promised
	}
	if asked > largest {
		refused := &TooManyError{Count: asked, Within: l.maxBlock, Largest: max(0, largest), Rate: l.rate}
		if asked <= most+a.bucket.Burst() { // more than comes while it may wait, but a burst adds up
			refused.After = l.spans(asked - largest)
		}
		c.refused(now, refused)
		return Wait{Err: refused}, false
	}
	c.user.admitted, c.user.promised = true, promised
	a.promised += promised
	return Wait{}, true
}

// reserve takes what the rate allows now for the connection, or a portion of what comes next. The
// caller holds the allowance's mu.
func (l *Limited) reserve(c *Connection, n int, now clockguard.Mono) {
	r, a, at := &c.user, c.user.of, time.Unix(0, int64(now))
	r.granted, r.from = min(n, a.tokens(now)), 0
	if r.granted > 0 {
		a.bucket.AllowN(at, r.granted)
	} else {
		r.granted = min(n, l.portion)
		r.from = now + clockguard.Mono(a.bucket.ReserveN(at, r.granted).DelayFrom(at))
	}
	kept := min(r.granted, r.promised)
	r.promised, a.promised = r.promised-kept, a.promised-kept
	a.took += uint64(r.granted)
}

// tokens is how many IDs the rate allows now, below 0 how many it has yet to. The caller holds mu.
func (a *allowance) tokens(now clockguard.Mono) int {
	return int(a.bucket.TokensAt(time.Unix(0, int64(now))))
}

// spans is how long the rate takes for n IDs.
func (l *Limited) spans(n int) time.Duration {
	return time.Duration(float64(n) / float64(l.rate.PerSecond) * float64(time.Second))
}

// end gives up what the connection was promised, and what it waits for. What it may take already
// stays its own.
func (r *ration) end() {
	r.admitted = false
	if r.promised == 0 && r.from == 0 {
		return
	}
	a, now := r.of, r.of.clock.Now().Mono
	a.mu.Lock()
	defer a.mu.Unlock()
	a.promised -= r.promised
	if r.from > now {
		a.bucket.ReserveN(time.Unix(0, int64(now)), -r.granted) // they come back
		a.took -= uint64(r.granted)
		r.granted = 0
	}
	r.promised, r.from = 0, 0
}

// Deal is Issuer.Deal: who waits for a rate knows until when.
func (l *Limited) Deal(named func(*Connection)) (again time.Duration) { return l.issuer.Deal(named) }

// Arrived is Issuer.Arrived.
func (l *Limited) Arrived(c *Connection) { l.issuer.Arrived(c) }
