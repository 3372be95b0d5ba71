// Package queue shares what comes in portions, as the numbers of a tick do, among the requests that
// have to wait for it: users in turn, their connections in turn, the requests of a connection one
// after the other. It says what can be promised to a request before it waits, too.
//
// It knows no clock, no dialect and no numbers: whoever has a portion calls Deal, and each request
// then takes its share. Nothing is random, so that a simulation can replay it.
package queue

import (
	"net/netip"
	"slices"
)

// User is whom a share is for: a UID, and the socket by which it came, or an address.
type User struct {
	UID     uint32
	Socket  uint32
	Address netip.Addr `json:",omitzero"`
}

// Nobody is the UID of a peer that the kernel does not know. It is no user's.
const Nobody = 1<<32 - 1

// Limits are what a Queue can count on.
type Limits struct {
	Portion int // what a Deal brings as a rule, if nothing is taken from it elsewhere; 1 or more
	Deals   int // how many of them a request may wait for; 1 or more
}

// A request of at most 1/smallPart of a portion is small, and 1/reservePart of each portion is kept
// for those.
const (
	smallPart   = 64
	reservePart = 8
)

// turns is how many turns a large request needs at most. Its connection's turn is that part of it,
// so that large requests need no more turns than others and come in few pieces.
const turns = 32

// Small is the largest request that counts as small, at least 1.
func (l Limits) Small() int { return max(1, l.Portion/smallPart) }

// batch is what large requests can count on of eight portions.
func (l Limits) batch() int { return l.Portion * (reservePart - 1) }

// Most is what a large request can count on that nobody else waits beside.
func (l Limits) Most() int { return max(1, l.batch()*l.Deals/reservePart) }

// Ask is what a request wants.
type Ask struct {
	N     int
	Small bool // what is kept for small requests is for it, too
	Row   bool // it is N requests for one each, of which the first is promised
}

// Queue is the requests that wait for the same portions. New makes one. It must not be used by two
// goroutines at once.
type Queue struct {
	limits   Limits
	users    []*user    // those that wait
	waits    int        // requests
	reserved int        // those of them that what is kept is for
	rows     int        // the others that it is for if those do not want it
	shares   int        // what was dealt and not taken
	eighths  int        // what of the portions until now was not enough to keep 1 of it
	dealt    []*Request // who got a share in the last Deal; nil: it has left
	orders   [3]order
	spare    []*user
}

// order is with which user a share begins, and with which it does in the next portion. nil: with
// whoever has waited for the longest time.
type order struct{ first, then *user }

// What is shared has an order of its own: users who want nothing of the one may want of the other.
const (
	ofReserved = iota
	ofRows
	ofAll
)

// New makes an empty queue.
func New(l Limits) *Queue {
	return &Queue{limits: Limits{max(1, l.Portion), max(1, l.Deals)}}
}

// user is those connections of a user that have a request here. What is kept for small requests is
// dealt to the reserved ones alone; of the user's share of the rest, they get what the common ones
// leave. So neither of the two kinds can break what the other was promised.
type user struct {
	id       User
	common   lines
	reserved lines
	left     int // what the common requests still want
	cost     int // their turns
	long     int // those of them that need more than one turn
	rows     int // those of them that are rows
	kept     int // the turns of the reserved ones
}

// Line is a connection's place in a queue: its requests are served in the order in which they
// joined. Its zero value stands nowhere.
type Line struct {
	user           *user
	in             *lines
	next, previous *Line
	first, last    *Request
}

// Request is one that waits. Its zero value waits nowhere.
type Request struct {
	Of any // whose it is, as Join was told

	queue    *Queue
	line     *Line
	next     *Request
	left     int // what it still wants
	share    int // what of that it may take now
	kept     int // what of the share is of what is kept for small requests
	turn     int // what is left of its connection's turn
	whole    int // a turn
	reserved bool
	long     bool // needs more than one turn
	row      bool // of requests for one each, and not reserved
	at       int  // its place in dealt, from 1; 0: none
}

// Len is how many requests wait, and Reserved how many of these share what is kept for small ones.
func (q *Queue) Len() int      { return q.waits }
func (q *Queue) Reserved() int { return q.reserved }

// Dealt is what was shared in the last Deal and has not been taken yet.
func (q *Queue) Dealt() int { return q.shares }

// NextReserve is what the next portion keeps for small requests: an eighth of it, on the average of
// those for which it was called. So some portions of less than eight keep 1, however their times
// lie.
func (q *Queue) NextReserve() int {
	q.eighths += q.limits.Portion
	reserve := q.eighths / reservePart
	q.eighths %= reservePart
	return reserve
}

// Shares names the requests that have a share.
func (q *Queue) Shares(name func(*Request)) {
	for _, r := range q.dealt {
		if r != nil && r.share > 0 {
			name(r)
		}
	}
}

// All names each connection's first request.
func (q *Queue) All(name func(*Request)) {
	for _, u := range q.users {
		for _, in := range []*lines{&u.common, &u.reserved} {
			for l := in.first; l != nil; l = l.next {
				name(l.first)
			}
		}
	}
}

// Waits reports whether the request stands in a queue.
func (r *Request) Waits() bool { return r.queue != nil }

// Reserved reports whether it may have a share of what is kept for small requests.
func (r *Request) Reserved() bool { return r.reserved || r.row }

// Share is what the request may take now. It is 0 until a Deal comes to it.
func (r *Request) Share() int { return r.share }

// Left is what the request still wants.
func (r *Request) Left() int { return r.left }

// Join has a request wait behind those of its connection, and the connection behind the user's
// others. A large request that has become small by what it got is not small.
func (q *Queue) Join(of User, l *Line, r *Request, a Ask, owner any) {
	u := l.user
	if u == nil {
		u = q.user(of)
		l.user = u
	}
	reserved, turn, _ := q.place(u, a)
	*r = Request{Of: owner, queue: q, line: l, left: a.N, turn: turn, whole: turn, reserved: reserved}
	r.row, r.long = !reserved && a.Row, !reserved && !a.Row && turn < a.N
	if l.last == nil {
		l.first = r
		l.stand()
	} else {
		l.last.next = r
	}
	l.last = r
	r.count(+1)
}

// count adds the request to what there is of its kind, or takes it away.
func (r *Request) count(sign int) {
	q, u := r.queue, r.line.user
	q.waits += sign
	if r.reserved {
		q.reserved += sign
		u.kept += sign * r.whole
		return
	}
	u.left += sign * r.left
	u.cost += sign * r.whole
	if r.long {
		u.long += sign
	}
	if r.row {
		q.rows += sign
		u.rows += sign
	}
}

// stand puts the connection behind the others of the same kind.
func (l *Line) stand() {
	if l.in = &l.user.common; l.first.reserved {
		l.in = &l.user.reserved
	}
	l.in.append(l)
}

// Took notes that the request took n of its share, and returns how much of that is of the reserve.
// A request that has all does not wait any more.
func (r *Request) Took(n int) (reserve int) {
	reserve = min(n, r.kept)
	r.kept -= reserve
	r.queue.shares -= min(n, r.share)
	r.share = max(0, r.share-n)
	r.left -= n
	if !r.reserved {
		r.line.user.left -= n
	}
	if r.left <= 0 {
		r.Leave()
	}
	return reserve
}

// Leave takes the request out of its queue, if it stands in one. Others get its share at the next
// Deal.
func (r *Request) Leave() {
	q, l := r.queue, r.line
	if q == nil {
		return
	}
	r.count(-1)
	q.shares -= r.share
	if r.at > 0 {
		q.dealt[r.at-1] = nil
	}
	u, first := l.user, l.first == r
	l.remove(r)
	reserved := r.reserved
	*r = Request{}
	switch {
	case l.first == nil:
		l.in.remove(l)
		*l = Line{}
	case first && l.first.reserved != reserved:
		l.in.remove(l)
		l.stand()
	}
	if u.common.first == nil && u.reserved.first == nil {
		q.forget(u)
	}
}

// user finds the user among those that wait, or lets it wait behind them.
func (q *Queue) user(id User) *user {
	if u := q.find(id); u != nil {
		return u
	}
	var u *user
	if n := len(q.spare); n > 0 {
		u, q.spare = q.spare[n-1], q.spare[:n-1]
	} else {
		u = &user{}
	}
	u.id = id
	q.users = append(q.users, u)
	return u
}

func (q *Queue) find(id User) *user {
	for _, u := range q.users {
		if u.id == id {
			return u
		}
	}
	return nil
}

// mostSpare is how many users' records are kept for the next ones.
const mostSpare = 16

func (q *Queue) forget(u *user) {
	at := slices.Index(q.users, u)
	q.users = slices.Delete(q.users, at, at+1)
	var next *user
	if len(q.users) > 0 {
		next = q.users[at%len(q.users)]
	}
	for i := range q.orders {
		o := &q.orders[i]
		if o.first == u {
			o.first = next
		}
		if o.then == u {
			o.then = next
		}
	}
	if len(q.spare) < mostSpare {
		*u = user{}
		q.spare = append(q.spare, u)
	}
}
