package issue

import (
	"net/netip"
	"slices"

	"github.com/flakeward/flakeward/clockguard"
)

// mostShown is how many users are shown each on its own: who came first.
const mostShown = 32

// Usage is what a UID has taken, in all pods, or an address.
type Usage struct {
	UID     uint32
	Address netip.Addr
	IDs     uint64 // that the rate has allowed
}

// Rate is that of each user.
func (l *Limited) Rate() Rate { return l.rate }

// Usages returns what the users have taken: the first 32 that came each on its own, and the rest
// together, those that were forgotten included.
func (l *Limited) Usages() (each []Usage, rest uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, u := range l.shown {
		a := l.users[u]
		if i := slices.IndexFunc(each, func(of Usage) bool { return of.UID == u.UID && of.Address == u.Address }); i >= 0 {
			each[i].IDs += a.taken()
			continue
		}
		each = append(each, Usage{u.UID, u.Address, a.taken()})
	}
	for _, a := range l.users {
		if !a.shown {
			rest += a.taken()
		}
	}
	return each, rest + l.gone
}

// mostUsers is how many users are remembered at least. One may come by the UIDs of a whole range.
const mostUsers = 1024

// forgetResting forgets the users who may take as much as one who has never come, where there are
// many: they lose nothing. The caller holds mu.
func (l *Limited) forgetResting() {
	if len(l.users) < l.many {
		return
	}
	now := l.clock.Now().Mono
	for u, a := range l.users {
		if !a.shown && a.rests(now) {
			delete(l.users, u)
			l.gone += a.taken()
		}
	}
	l.many = max(mostUsers, 2*len(l.users))
}

// rests reports whether nothing is known of it that matters, and then ends it: its user's
// connections look for the user's again.
func (a *allowance) rests(now clockguard.Mono) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	rests := a.queue.Len() == 0 && a.allowed(now) >= a.bucket.Burst()
	a.over.Store(rests)
	return rests
}

func (a *allowance) taken() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.took
}

// Waits returns how many requests had to wait for their user's rate.
func (l *Limited) Waits() uint64 { return l.waits.Load() }
