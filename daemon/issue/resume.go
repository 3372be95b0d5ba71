package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/queue"
)

// Left is how many IDs a user, or a tenant, could still take at once within its rate, as one process
// hands it to another: so nobody gets a burst anew. The number of a pod's user holds in one process
// only, so it is not handed over, and the name is.
type Left struct {
	User   *queue.User `json:",omitempty"` // of no pod
	Pod    string      `json:",omitempty"` // a pod's user. Without User and Pod it is a tenant's
	Tenant uint32      `json:",omitempty"`
	IDs    int         // at least 0
}

// Left returns what is left of the rates of all who took IDs, for Resume. The function names a pod's
// user by its number; a user without a name has gone, and is left out. Nobody may take meanwhile.
func (l *Limited) Left(name func(number uint32) string) (all []Left) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now().Mono
	for user, a := range l.users {
		ids, less := a.left(now)
		if !less {
			continue
		}
		if number := PodOf(user); number == 0 {
			all = append(all, Left{User: &user, IDs: ids})
		} else if pod := name(number); pod != "" {
			all = append(all, Left{Pod: pod, IDs: ids})
		}
	}
	for tenant, a := range l.tenants {
		if ids, less := a.left(now); less {
			all = append(all, Left{Tenant: tenant, IDs: ids})
		}
	}
	return all
}

// Resume goes on with what another process has left of the rates. The function is the number that a
// pod's user has in this process; 0: it has gone, and what was left of its rate is dropped. Rates may
// be others by now: nobody gets more than the burst of today. Resume is called before anybody takes.
func (l *Limited) Resume(all []Left, number func(pod string) uint32) {
	if l == nil {
		return
	}
	now := l.clock.Now().Mono
	for _, left := range all {
		a := l.allowanceOf(left, number)
		if a != nil && a.rate.limited() {
			a.mu.Lock()
			a.bucket.AllowN(time.Unix(0, int64(now)), max(0, a.allowed(now)-max(0, left.IDs)))
			a.mu.Unlock()
		}
	}
}

// allowanceOf is whose allowance was left; nil: nobody's here.
func (l *Limited) allowanceOf(left Left, number func(pod string) uint32) *allowance {
	switch {
	case left.Pod != "":
		if n := number(left.Pod); n != 0 {
			return l.user(PodUser(n))
		}
		return nil
	case left.User == nil:
		return l.tenants[left.Tenant]
	case PodOf(*left.User) != 0: // a number of the other process, which may be somebody else's here
		return nil
	}
	return l.user(*left.User)
}

// left is how many IDs the rate allows now, and whether that is less than its burst.
func (a *allowance) left(now clockguard.Mono) (ids int, less bool) {
	if !a.rate.limited() {
		return 0, false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	ids = a.allowed(now)
	return ids, ids < a.bucket.Burst()
}
