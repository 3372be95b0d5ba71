package issue

import (
	"time"

	"github.com/flakeward/flakeward/clockguard"
	"github.com/flakeward/flakeward/daemon/queue"
)

// Left is how many IDs a user, or a tenant, could still take at once within its rate, as one process
// hands it to another: so nobody gets a burst anew.
type Left struct {
	User   *queue.User `json:",omitempty"` // nil: it is a tenant's
	Tenant uint32      `json:",omitempty"`
	IDs    int         // at least 0
}

// Left returns what is left of the rates of all who took IDs, for Resume. Nobody may take meanwhile.
func (l *Limited) Left() (all []Left) {
	if l == nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock.Now().Mono
	for user, a := range l.users {
		if ids, less := a.left(now); less {
			all = append(all, Left{User: &user, IDs: ids})
		}
	}
	for tenant, a := range l.tenants {
		if ids, less := a.left(now); less {
			all = append(all, Left{Tenant: tenant, IDs: ids})
		}
	}
	return all
}

// Resume goes on with what another process has left of the rates. Rates may be others by now: nobody
// gets more than the burst of today. Resume is called before anybody takes.
func (l *Limited) Resume(all []Left) {
	if l == nil {
		return
	}
	now := l.clock.Now().Mono
	for _, left := range all {
		a := l.allowanceOf(left)
		if a != nil && a.rate.limited() {
			a.mu.Lock()
			a.bucket.AllowN(time.Unix(0, int64(now)), max(0, a.allowed(now)-max(0, left.IDs)))
			a.mu.Unlock()
		}
	}
}

// allowanceOf is whose allowance was left; nil: nobody's here.
func (l *Limited) allowanceOf(left Left) *allowance {
	if left.User == nil {
		return l.tenants[left.Tenant]
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
