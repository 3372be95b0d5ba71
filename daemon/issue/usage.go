package issue

import (
	"slices"

	"github.com/flakeward/flakeward/daemon/queue"
)

// mostShown is how many users are shown each on its own: who came first.
const mostShown = 32

// Usage is what a user with a rate has taken.
type Usage struct {
	User queue.User
	Rate Rate
	IDs  uint64 // that the rate has allowed
}

// Usages returns what the users with a rate have taken: the first of them that came each on its
// own, at most 32, and the rest together, those that were forgotten included.
func (l *Limited) Usages() (each []Usage, rest uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.shown {
		a := l.users[u]
		each = append(each, Usage{u, a.rate, a.taken()})
	}
	for _, a := range l.users {
		if !a.shown {
			rest += a.taken()
		}
	}
	return each, rest + l.gone
}

// Forget forgets a user who has gone for good. One who comes by that name later has its burst anew.
func (l *Limited) Forget(u queue.User) {
	l.mu.Lock()
	defer l.mu.Unlock()
	a := l.users[u]
	if a == nil {
		return
	}
	delete(l.users, u)
	if !a.shown {
		l.gone += a.taken()
		return
	}
	l.shown = slices.DeleteFunc(l.shown, func(other queue.User) bool { return other == u })
}

func (a *allowance) taken() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.took
}

// Waits returns how many requests had to wait for their user's rate.
func (l *Limited) Waits() uint64 { return l.waits.Load() }
