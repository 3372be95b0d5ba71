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

// Limited is an issuer whose users have a rate. A request over the rate of its user waits until
// that allows it, in turn with the others that wait for the same. It is refused at once if that
// would be later than MaxBlock. Its methods may be called from any goroutine.
type Limited struct {
	issuer   *Issuer
	rate     Rate // of each user
	limits   queue.Limits
	clock    clockguard.Clock
	maxBlock time.Duration
	waits    atomic.Uint64 // requests that had to wait for the rate

	mu    sync.Mutex
	users map[queue.User]*allowance
	many  int          // how many users there are when those who rest are forgotten
	shown []queue.User // who came first, up to mostShown
	gone  uint64       // IDs of users that were forgotten and not shown

	turns   sync.Mutex // guards the rest; it is taken last
	waiting []*allowance
}

// allowance is what a user may take.
type allowance struct {
	shown bool        // by itself; guarded by Limited.mu
	over  atomic.Bool // its user was forgotten: it is another's now, or nobody's

	mu     sync.Mutex // guards the rest, and what connections have of it
	bucket *rate.Limiter
	queue  *queue.Queue
	took   uint64 // IDs that the rate has allowed
}

// ration is what a connection has of an allowance.
type ration struct {
	of       *allowance // nil: not known yet
	granted  int        // IDs that it may take
	admitted bool
	place    queue.Line
	request  queue.Request
}

// Limit returns what issues at this rate for each user: the issuer itself if there is none.
func (i *Issuer) Limit(of Rate, clock clockguard.Clock, maxBlock time.Duration) interface {
	Take(c *Connection, tenant uint32, n int) (generator.Run, Wait)
} {
	if !of.limited() {
		return i
	}
	portion := max(1, of.PerSecond/portions)
	return &Limited{
		issuer: i, rate: of, clock: clock, maxBlock: maxBlock, users: make(map[queue.User]*allowance), many: mostUsers,
		limits: queue.Limits{Portion: portion, Deals: max(1, int(maxBlock.Seconds()*float64(of.PerSecond)/float64(portion)))},
	}
}

// portions is how many portions of a rate there are in a second.
const portions = 100

// Take is Issuer.Take within the rate of the connection's user.
func (l *Limited) Take(c *Connection, tenant uint32, n int) (generator.Run, Wait) {
	r := &c.user
	if r.of == nil || r.of.over.Load() && !r.request.Waits() { // or it leaves the queue that it is in
		r.of = l.user(c.User)
	}
	if r.granted == 0 && !r.admitted {
		if wait, admitted := l.admit(c, n); !admitted {
			return generator.Run{}, wait
		}
	}
	if r.granted == 0 {
		if wait := l.grant(c, n); r.granted == 0 {
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
		burst := max(l.rate.Burst, l.limits.Portion)
		a = &allowance{bucket: rate.NewLimiter(rate.Limit(l.rate.PerSecond), burst), queue: queue.New(l.limits)}
		l.users[of] = a
		if len(l.shown) < mostShown {
			a.shown, l.shown = true, append(l.shown, of)
		}
	}
	return a
}

// admit refuses a request that its rate cannot serve within MaxBlock, before it takes anything. Who
// asks again before the time that it was told waits until then, and after MaxBlock is told what is
// left of that time.
func (l *Limited) admit(c *Connection, n int) (wait Wait, admitted bool) {
	a, now := c.user.of, l.clock.Now().Mono
	c.sampled = now
	a.mu.Lock()
	defer a.mu.Unlock()
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
	p := a.queue.Admit(c.User, l.ask(c, n))
	if a.queue.Len() == 0 {
		p.Largest += a.allowed(now)
	}
	if asked > p.Largest {
		after := time.Duration(p.After) * l.spans(l.limits.Portion)
		if after == 0 && asked <= l.limits.Most()+a.bucket.Burst() { // more than comes while it may wait, but a burst adds up
			after = l.spans(asked - p.Largest)
		}
		refused := &TooManyError{Count: asked, Within: l.maxBlock, Largest: p.Largest, Rate: l.rate, After: after}
		c.refused(now, refused)
		return Wait{Err: refused}, false
	}
	c.user.admitted = true
	return Wait{}, true
}

// grant lets the connection take what the rate allows now, or says when to ask again.
func (l *Limited) grant(c *Connection, n int) Wait {
	r := &c.user
	a, now := r.of, l.clock.Now().Mono
	c.sampled = now
	a.mu.Lock()
	defer a.mu.Unlock()
	allowed := a.allowed(now)
	if !r.request.Waits() && (a.queue.Len() > 0 || allowed == 0) {
		if a.queue.Len() == 0 {
			l.begin(a)
		}
		a.queue.Join(c.User, &r.place, &r.request, l.ask(c, n), c)
	}
	share := min(n, allowed)
	if r.request.Waits() {
		if r.request.Share() == 0 {
			a.deal(allowed)
		}
		share = min(share, r.request.Share())
	}
	if share > 0 {
		a.bucket.AllowN(time.Unix(0, int64(now)), share)
		r.granted = share
		if r.request.Waits() {
			r.request.Took(share)
		}
		a.took += uint64(share)
		return Wait{}
	}
	if c.deadline == 0 {
		l.waits.Add(1)
	}
	left := c.deadline.left(now, l.maxBlock)
	if left <= 0 {
		r.request.Leave()
		return Wait{Err: &UnavailableError{Reason: ErrRate, For: l.spans(n), After: l.maxBlock}}
	}
	return Wait{For: min(left, l.again(n)), InTurn: left}
}

// deal shares what the rate allows now, if that is more than was dealt. The caller holds mu.
func (a *allowance) deal(allowed int) {
	if allowed > a.queue.Dealt() {
		a.queue.Deal(allowed, allowed/8)
	}
}

// again is when a request for n that waits may get something of what comes.
func (l *Limited) again(n int) time.Duration {
	return max(l.spans(min(n, l.limits.Small())), time.Millisecond)
}

// allowed is how many IDs the rate allows now. The caller holds mu.
func (a *allowance) allowed(now clockguard.Mono) int {
	return max(0, int(a.bucket.TokensAt(time.Unix(0, int64(now)))))
}

// spans is how long the rate takes for n IDs.
func (l *Limited) spans(n int) time.Duration {
	return time.Duration(float64(n) / float64(l.rate.PerSecond) * float64(time.Second))
}

// end gives the connection's place up. What it may take stays its own.
func (r *ration) end() {
	r.admitted = false
	if r.request.Waits() {
		r.leave()
	}
}

func (r *ration) leave() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	r.request.Leave()
}

// ask is what the queue is told of a connection's request for n.
func (l *Limited) ask(c *Connection, n int) queue.Ask {
	return queue.Ask{N: n, Small: n <= l.limits.Small(), Row: c.Singles}
}
