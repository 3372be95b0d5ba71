// Package budget bounds what clients can have a daemon keep: memory by one budget over all
// connections, connections by the process's file descriptors and by user.
//
// The budget is a part of the memory that the process may use. Each connection has an account,
// which says how much is kept for it. An account changes only when a buffer grows or is given back,
// so a request that needs none costs nothing. Over the budget, whoever owns the connections ends
// the one that Heaviest and Account.Held name, until it is kept to again.
package budget

import "sync"

// User tells apart whom connections belong to: the UID at the other end, one in a pod, an address,
// or Unknown.
type User int64

// PodUser is a UID in a pod of a number below 1<<31; 0: in none.
func PodUser(uid, pod uint32) User { return User(pod)<<32 | User(uid) }

// AddressUser is the user of connections from an address, by a number of 64 bits. It is no other's.
func AddressUser(number uint64) User { return 1<<62 | User(number>>2) }

// Unknown stands for a user that the system does not tell.
const Unknown User = -1

// Budget is what is kept for all clients together, in bytes. Its methods may be called from any
// goroutine.
type Budget struct {
	limit int64

	mu    sync.Mutex
	used  int64
	users map[User]int64
}

// New makes a budget of that many bytes.
func New(limit int64) *Budget { return &Budget{limit: limit, users: make(map[User]int64)} }

// Limit is how much may be kept, in bytes.
func (b *Budget) Limit() int64 { return b.limit }

// Used is how much is kept, in bytes.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// Heaviest is the user for whom most is kept, and by how much too much is kept for all, in bytes. A
// budget that is used up is cleared a little further than it has to be, so that whoever looks for
// what to end does not have to look for each connection anew. 0: no more is kept than may be.
func (b *Budget) Heaviest() (u User, excess int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.used <= b.limit {
		return Unknown, 0
	}
	u, most := Unknown, int64(-1)
	for user, held := range b.users {
		if held > most || held == most && user < u {
			u, most = user, held
		}
	}
	return u, min(b.used-b.limit+b.limit/32, b.users[u])
}

// change adds to what is kept for a user, and reports whether that is more than may be.
func (b *Budget) change(u User, by int64) (over bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += by
	if b.users[u] += by; b.users[u] == 0 {
		delete(b.users, u)
	}
	return b.used > b.limit
}

// Account is what is kept for one connection. It must be used by one goroutine at a time; its zero
// value has no budget and counts nothing.
type Account struct {
	budget *Budget
	user   User
	held   int
}

// Open begins a connection's account.
func (b *Budget) Open(u User) Account { return Account{budget: b, user: u} }

// User is whose connection it is.
func (a *Account) User() User { return a.user }

// Held is how much is kept, in bytes.
func (a *Account) Held() int { return a.held }

// Hold says how much is kept by now, in bytes. It reports whether all accounts together have more
// than they may; where nothing has changed it does not look.
func (a *Account) Hold(n int) (over bool) {
	if n == a.held || a.budget == nil {
		return false
	}
	by := n - a.held
	a.held = n
	return a.budget.change(a.user, int64(by))
}
