package queue

// Promise is what can be promised to a request before it waits.
type Promise struct {
	Largest int // the largest count that can be had within Limits.Deals; 0: none
	After   int // deals after which more can be had; 0: more can never be had
}

// Admit says what can be promised to a request of the user, that gets no more than its share. The
// request can be served in time if what it is promised, all of it or one, is at most Largest.
//
// A request gets a turn in each round, and rounds are so short that the turns of a request fit into
// Limits.Deals. For that, a user's requests together may want no more of a round than the user's
// share. They leave room for one user more than there is, so that one who comes does not have those
// given up that were promised theirs. A user of whom nothing waits is promised all of its share:
// there is a largest count that depends on no other request of its own.
//
// Small requests and rows have a reserve in which no batch has a part, so none of them is refused
// for batches, and none that shares the reserve makes a round of the others longer.
func (q *Queue) Admit(of User, a Ask) Promise {
	u := q.find(of)
	if u == nil {
		u = &user{}
	}
	if _, _, ok := q.place(u, a); ok {
		return Promise{Largest: a.N}
	}
	most, users := q.limits.Most(), len(q.users)
	if u.common.first == nil {
		share := max(1, most/(users+1))
		if a.N > most {
			return Promise{Largest: share}
		}
		return Promise{Largest: share, After: q.served()}
	}
	p := Promise{Largest: q.free(u) * turns}
	p.Largest = max(p.Largest, min(q.limits.Small(), q.keeps()-u.kept))
	if a.N <= most {
		p.After = max(1, (u.left*users*reservePart)/q.limits.batch())
	}
	return p
}

// place is where a request would wait, what its turn would be, and whether it can be promised
// anything there.
func (q *Queue) place(u *user, a Ask) (reserved bool, turn int, ok bool) {
	small, kept := q.limits.Small(), q.keeps()-u.kept
	turn = min(a.N, small)
	if a.Small && turn == a.N && a.N <= kept {
		return true, turn, true
	}
	if (a.Small || a.Row) && (turn <= q.free(u) || u.long == 0 && u.cost+turn <= q.fairShare()) {
		return false, turn, true
	}
	if a.Row {
		return true, 1, kept > 0
	}
	turn = min(a.N, max(small, (a.N+turns-1)/turns))
	alone := u.common.first == nil && a.N <= q.fairShare()
	return a.Small, turn, alone || q.free(u) > 0 && turn <= q.free(u)
}

// fairShare is what each user can count on, with one more than there is.
func (q *Queue) fairShare() int { return max(1, q.limits.Most()/(len(q.users)+1)) }

// keeps is what small requests of each user can count on of what is kept for those.
func (q *Queue) keeps() int {
	return max(1, q.limits.Portion*q.limits.Deals/reservePart/(len(q.users)+1))
}

// free is what is left of a user's part of a round. A turn is no smaller than a small request.
func (q *Queue) free(u *user) int {
	if free := q.fairShare()/turns - u.cost; free >= q.limits.Small() {
		return free
	}
	return 0
}

// served is after how many deals all that wait now are served.
func (q *Queue) served() int {
	left := 0
	for _, u := range q.users {
		left += u.left
	}
	return max(1, left*reservePart/q.limits.batch())
}
