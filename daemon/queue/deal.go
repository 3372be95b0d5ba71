package queue

import "slices"

// Deal shares a portion among all that wait. First it takes back what of the last Deal was not
// taken, which has to be in room or reserve again; who did not take it is the first in turn. Then
// it shares reserve among the reserved requests, and room among all: users in turn, and their
// connections in turn. Where some users get one more than others, those after them are the first to
// in the next portion.
func (q *Queue) Deal(room, reserve int) {
	for i := range q.orders {
		q.orders[i].first = q.orders[i].then
	}
	q.DealAgain(room, reserve)
}

// DealAgain is Deal for a portion of which something was dealt before. It begins with the same
// users: if the first ones changed twice a portion, two users would be where they were in each.
func (q *Queue) DealAgain(room, reserve int) {
	for _, r := range slices.Backward(q.dealt) {
		if r == nil { // it has left
			continue
		}
		r.at = 0
		if r.share > 0 {
			r.turn = min(r.whole, r.turn+r.share)
			r.share, r.kept = 0, 0
			in := r.line.in
			in.remove(r.line)
			in.prepend(r.line)
		}
	}
	q.shares = 0
	clear(q.dealt)
	q.dealt = q.dealt[:0]
	if q.reserved > 0 {
		reserve = q.share(&q.orders[ofReserved], reserve, (*user).dealReserved)
	}
	if q.rows > 0 {
		q.share(&q.orders[ofRows], reserve, (*user).dealRows)
	}
	for _, r := range q.dealt {
		r.kept = r.share
	}
	q.share(&q.orders[ofAll], room, (*user).deal)
}

// share gives each user as much of room as the others, and what one does not want to the others.
func (q *Queue) share(o *order, room int, deal func(u *user, q *Queue, portion int) (given int)) (left int) {
	first, wanting := max(0, slices.Index(q.users, o.first)), len(q.users)
	o.then = o.first
	for room > 0 && wanting > 0 {
		portion, rest := max(1, room/wanting), room < wanting
		wanting = 0
		for i := range q.users {
			at := (first + i) % len(q.users)
			given := deal(q.users[at], q, min(portion, room))
			room -= given
			if given == 0 {
				continue
			}
			wanting++
			if rest {
				o.then = q.users[(at+1)%len(q.users)]
			}
		}
	}
	return room
}

// dealReserved gives a user's reserved connections turns, as far as portion goes.
func (u *user) dealReserved(q *Queue, portion int) (given int) {
	return q.rounds(&u.reserved, portion, false)
}

// dealRows gives the rows among the user's common connections what is kept and nobody else wants.
func (u *user) dealRows(q *Queue, portion int) (given int) {
	if u.rows == 0 {
		return 0
	}
	return q.rounds(&u.common, portion, true)
}

// deal gives the user's common connections turns, as far as portion goes, and the reserved ones
// what those leave of it.
func (u *user) deal(q *Queue, portion int) (given int) {
	given = q.rounds(&u.common, portion, false)
	return given + q.rounds(&u.reserved, portion-given, false)
}

// rounds gives connections turns, as far as portion goes. It returns how much it gave. Where
// portion ends in the midst of a turn, the turn goes on at the next.
func (q *Queue) rounds(in *lines, portion int, rows bool) (given int) {
	for given < portion {
		more := q.round(in, portion-given, rows)
		if more == 0 {
			break
		}
		given += more
	}
	return given
}

// round gives each of the connections a turn, or each of those that have a row, as far as portion
// goes.
func (q *Queue) round(in *lines, portion int, rows bool) (given int) {
	l := in.first
	for range in.n {
		if given == portion {
			break
		}
		next, r := l.next, l.first
		if !rows || r.row {
			given += q.turn(in, l, r, portion-given)
		}
		l = next
	}
	return given
}

// turn gives a request of its turn what it wants, and at most portion.
func (q *Queue) turn(in *lines, l *Line, r *Request, portion int) (give int) {
	give = min(portion, r.turn, r.left-r.share)
	if give > 0 && r.at == 0 {
		q.dealt = append(q.dealt, r)
		r.at = len(q.dealt)
	}
	r.share += give
	q.shares += give
	if r.turn -= give; r.turn == 0 || r.share == r.left {
		r.turn = r.whole
		in.remove(l)
		in.append(l)
	}
	return give
}
