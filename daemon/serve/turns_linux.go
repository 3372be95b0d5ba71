package serve

import (
	"time"

	"golang.org/x/sys/unix"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/budget"
	"github.com/flakeward/flakeward/daemon/resp"
)

const (
	// longTurn is for how many bytes of requests or replies a turn counts as long. What was written
	// in small pieces takes the kernel as long to read as much larger ones: 200 µs for 4 KiB.
	longTurn = 1 << 10
	// longRound is how long the turns of a round may take until the rest of them are short.
	longRound = 250 * time.Microsecond
	// shortTurn is how many bytes of replies a short turn has, and shortRead what is read for it.
	shortTurn = 2 << 10
	shortRead = 1 << 10
	// stride is by how many events the beginning moves on.
	stride = 61

	// fewEvents is how many events a round may have that are all answered. Of more, all users
	// together have so many before the others come.
	fewEvents = 64
	// roundShare is how long a round may take for what may wait: for requests that have waited, for
	// events that are not the first, for connections that have more to answer, and for those that
	// have to end. What there is no time for is left to the next round.
	roundShare = 250 * time.Microsecond
	// lookEvery is how many of them come between two readings of the clock, where none of them is
	// long. So a round has at least lookEvery-1 of a kind none of which is long, however long the
	// other kinds take.
	lookEvery = 16
)

// turns keeps rounds short, so that a request is not held up by many connections that have much
// to ask, nor by many that have little. Once the long turns of a round have taken long enough, the
// other turns in it are short, connections whose last turn was long have to wait for another round,
// and each user has one more event before the others come. Users come in turn. Rounds with few
// events and without long turns do not look at the clock.
type turns struct {
	clock   clockguard.Clock
	users   map[budget.User]*load
	since   clockguard.Mono // when this round began with what may wait; 0: it has not
	begun   clockguard.Mono // of the first long turn's end; 0: there was none in this round
	rounds  uint64
	each    int // how many events each user has before the others come
	short   bool
	look    bool // what came last was long
	partial bool // the last round left events to this one
	offset  int
}

// load is what a user's connections have asked of the loop.
type load struct {
	connections int
	epoll       int // of those that are not watched directly; 0: there are none
	round       uint64
	events      int // in that round
}

// come counts a connection of the user's, and leave one that has ended.
func (t *turns) come(u budget.User, p *poller) *load {
	of := t.users[u]
	if of == nil {
		of = &load{}
		t.users[u] = of
	}
	if of.connections++; of.connections > directly && of.epoll == 0 {
		if epoll, err := p.open(); err == nil { // or there is no descriptor left: it does without
			of.epoll = epoll
		}
	}
	return of
}

func (t *turns) leave(u budget.User) {
	of := t.users[u]
	if of.connections--; of.connections == 0 {
		of.close()
		delete(t.users, u)
	}
}

// close ends what come has made.
func (of *load) close() {
	if of.epoll > 0 {
		_ = unix.Close(of.epoll)
		of.epoll = 0
	}
}

// epollOf is where the user's latest connection is watched.
func (of *load) epollOf(p *poller) int {
	if of.connections > directly && of.epoll > 0 {
		return of.epoll
	}
	return p.epoll
}

// ofEpoll finds the user whose epoll it is.
func (t *turns) ofEpoll(epoll int) *load {
	for _, of := range t.users {
		if of.epoll == epoll {
			return of
		}
	}
	return nil
}

// begin begins a round with n events, and returns the event to begin with: not the same each time,
// as those that are put off come again in the same order.
func (t *turns) begin(h *resp.Handler, n int) (first int) {
	t.begun, t.each = 0, 0
	if t.rounds++; n > fewEvents {
		t.each = max(1, fewEvents/max(1, len(t.users)))
	}
	if t.partial {
		t.partial = false
		first = t.offset
	}
	if t.short {
		t.short = false
		resp.Shorten(h, 0)
		t.offset += stride
		first = t.offset
	}
	return first % max(n, 1)
}

// first reports whether a user's next event is among the first of this round.
func (t *turns) first(of *load) bool {
	if t.each == 0 && !t.short {
		return true
	}
	if of.round != t.rounds {
		of.round, of.events = t.rounds, 0
	}
	if of.events++; t.short {
		return of.events == 1
	}
	return of.events <= t.each
}

// start says that what may wait begins now, unless something else of the kind came before in this
// round.
func (t *turns) start() {
	if t.since == 0 {
		t.since = t.clock.Now().Mono
	}
}

// late reports whether this round has had its time for what may wait.
func (t *turns) late() bool { return t.clock.Now().Mono.Sub(t.since) >= roundShare }

// over reports late, and reads the clock only after a long turn or before each lookEvery-th.
func (t *turns) over(n int) bool {
	look := n > 0 && t.look || n%lookEvery == lookEvery-1
	t.look = false
	return look && t.late()
}

// took notes a long turn.
func (t *turns) took(h *resp.Handler) {
	if t.look = true; t.short {
		return
	}
	now := t.clock.Now().Mono
	if t.begun == 0 {
		t.begun = now
		return
	}
	if t.short = now.Sub(t.begun) >= longRound; t.short {
		resp.Shorten(h, shortTurn)
	}
}

// most is how many bytes to read, where there is room for n.
func (t *turns) most(n int) int {
	if t.short {
		return min(n, shortRead)
	}
	return n
}
