package issue

import "github.com/flakeward/flakeward/daemon/queue"

// mostShown is how many users are shown each on its own: who came first.
const mostShown = 32

// Usage is what a user with a rate has taken.
type Usage struct {
	User queue.User
	Rate Rate
	IDs  uint64 // that the rate has allowed
}

// Usages returns what the users with a rate have taken: the first of them that came each on its
// own, at most 32, and the rest together.
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
	return each, rest
}

func (a *allowance) taken() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.took
}

// Waits returns how many requests had to wait for their user's rate.
func (l *Limited) Waits() uint64 { return l.waits.Load() }
