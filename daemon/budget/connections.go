package budget

import "sync"

// Verdict is what becomes of a client that connects.
type Verdict uint8

// The verdicts there are.
const (
	Admit   Verdict = iota // there is room
	Relieve                // admit it, and end a connection of the user who has most
	Reserve                // admit it to the reserve
	Recycle                // admit it to the reserve, and end the connection that is there the longest
	Refuse                 // there is no room, and nobody has more than this user
)

// ending is how many connections there may be above the reserve, until those have ended whose
// places they get.
const ending = 8

// Connections counts connections by user. Its methods may be called from any goroutine.
//
// No user has a fixed share: one may have all connections while nobody else comes. Once they are
// used up, a user who has fewer gets one of the user who has most, so that in the end each has the
// same. A reserve above the limit is for those who look after the daemon. It is never full: its
// oldest connection makes room for the next.
type Connections struct {
	limit, reserve int
	operator       func(User) bool

	mu    sync.Mutex
	open  int
	users map[User]int
}

// NewConnections allows limit connections, and a reserve to each user whom operator names; nil: to
// nobody.
func NewConnections(limit, reserve int, operator func(User) bool) *Connections {
	return &Connections{limit: limit, reserve: reserve, operator: operator, users: make(map[User]int)}
}

// Limit is how many connections there may be at once, without the reserve.
func (c *Connections) Limit() int { return c.limit }

// Of is how many the user has.
func (c *Connections) Of(u User) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.users[u]
}

// Come decides about a client that connects, and counts it unless it is refused. With Relieve,
// busiest is the user who has most connections.
func (c *Connections) Come(u User) (v Verdict, busiest User) {
	c.mu.Lock()
	defer c.mu.Unlock()
	busiest = Unknown
	if c.open >= c.limit {
		v, busiest = c.full(u)
	}
	if v != Refuse {
		c.open++
		c.users[u]++
	}
	return v, busiest
}

// Adopt counts a connection that there was before, whatever the limit.
func (c *Connections) Adopt(u User) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open++
	c.users[u]++
}

// full decides where the limit is reached. Connections that are being ended for others count
// until they have ended.
func (c *Connections) full(u User) (Verdict, User) {
	busiest, most := Unknown, 0
	for user, n := range c.users {
		if n > most || n == most && user < busiest {
			busiest, most = user, n
		}
	}
	switch operator := c.operator != nil && c.reserve > 0 && c.operator(u); {
	case c.open >= c.limit+c.reserve+ending: // those that are being ended have not ended yet
		return Refuse, busiest
	case most > c.users[u]+1:
		return Relieve, busiest
	case operator && c.open >= c.limit+c.reserve:
		return Recycle, busiest
	case operator:
		return Reserve, busiest
	}
	return Refuse, busiest
}

// Go counts a connection that has ended.
func (c *Connections) Go(u User) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open--
	if c.users[u]--; c.users[u] == 0 {
		delete(c.users, u)
	}
}
